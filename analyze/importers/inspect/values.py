"""JSON of logs and its values: constants that JSON lacks, and numbers that fit a line or are null.

The tool writes NaN and Infinity as they are, and older logs have whatever a scorer put there.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson
from pydantic import JsonValue

from schemas.base import MAX_QUANTITY
from schemas.redact import MARK, SECRET_NAME, redact

MAX_DEPTH = 100
"""Of lists and objects in a free value, so that any reader can follow it."""

MAX_USD = 1e6
TOO_DEEP = "(nested too deeply; the original has it)"

BETWEEN = re.compile(rb"\}\s*,\s*(?=\{)")
MAX_ITEM_BYTES = 1 << 28

MAX_ENDS = 20
"""Places where an item seems to end that are tried, from the last one on."""

Json = dict[str, Any]


def loads(raw: bytes) -> Any:
    """Return what a JSON text holds, NaN and infinite numbers as such.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    text = raw.decode("utf-8", errors="replace").removeprefix("\ufeff")
    try:
        found = json.loads(text, strict=False)
    except RecursionError:
        message = "is nested too deeply"
        raise ValueError(message) from None
    return _without_surrogates(found) if "\\ud" in text.lower() else found


def items_in(pieces: Iterable[bytes]) -> Iterator[Any]:
    """Yield the items of a JSON list of objects, of which only some are in memory at once.

    Raises:
        ValueError: it is none, or no JSON from some item on; those before were yielded.
    """
    begun, least = b"", 0
    for piece in pieces:
        begun += piece
        if len(begun) > MAX_ITEM_BYTES:
            message = f"an item has more than {MAX_ITEM_BYTES:,} bytes"
            raise ValueError(message)
        if len(begun) >= least:
            items, begun = _whole_items(begun)
            yield from items
            least = 0 if items else 2 * len(begun)  # a large item is not tried with each piece
    found = loads(begun)
    yield from found if isinstance(found, list) else ()


def _whole_items(begun: bytes) -> tuple[list[Any], bytes]:
    """Return items of a list that is not whole yet, and the rest as a list.

    Where an item seems to end may be within one, and then what is before it is no JSON.
    """
    ends = [match.span() for match in BETWEEN.finditer(begun)]
    for end, begin in ends[: -MAX_ENDS - 1 : -1]:
        with contextlib.suppress(ValueError):
            found = loads(begun[: end + 1] + b"]")
            if isinstance(found, list):
                return found, b"[" + begun[begin:]
    return [], begun


def _without_surrogates(value: Any) -> Any:
    """Return a value whose texts can be written: half a character of UTF-16 becomes `?`."""
    if isinstance(value, str):
        return value.encode("utf-8", errors="replace").decode()
    if isinstance(value, list):
        return [_without_surrogates(one) for one in value]
    if isinstance(value, dict):
        return {_without_surrogates(name): _without_surrogates(one) for name, one in value.items()}
    return value


def plain(value: Any, depth: int = 0) -> JsonValue:
    """Return any value as JSON that everybody reads: no NaN, no endless numbers or depths."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)[:MAX_DEPTH]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= MAX_DEPTH:
        return TOO_DEEP
    if isinstance(value, list):
        return [plain(one, depth + 1) for one in value]
    return {str(name): plain(one, depth + 1) for name, one in value.items()}


def kept(value: Any) -> JsonValue:
    """Return a value of a log's head as it may be kept: plain, and without secrets."""
    return _concealed(plain(value))


def _concealed(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_concealed(one) for one in value]
    if isinstance(value, dict):
        return {redact(name): _of_name(name, one) for name, one in value.items()}
    return value


def _of_name(name: str, value: JsonValue) -> JsonValue:
    """Return a value without secrets; a text whose name is a secret's is one."""
    is_secret = isinstance(value, str) and SECRET_NAME.search(name)
    return MARK if is_secret else _concealed(value)


def mapping(value: Any) -> Json:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[Any]:
    """Return a list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def words(value: Any) -> str | None:
    """Return a text that is not empty; None for anything else."""
    return value if isinstance(value, str) and value else None


def whole(value: Any) -> int | None:
    """Return a count or a number of tokens; None for what is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= MAX_QUANTITY else None


def millis(seconds: Any) -> int | None:
    """Return seconds as milliseconds; None for what is no time."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    return round(seconds * 1000) if 0 <= seconds <= MAX_QUANTITY / 1000 else None


def usd(value: Any) -> float | None:
    """Return an amount of money of one trial; None for what is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= MAX_USD else None

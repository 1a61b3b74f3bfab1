"""Values of JSON that another tool wrote, taken for what they can be and for nothing else.

Python writes NaN and infinity, JavaScript halves of surrogate pairs; neither is in a file of ours.
"""

from __future__ import annotations

import json
import math
from typing import Any

import orjson
from pydantic import JsonValue

from schemas.base import MAX_QUANTITY

MAX_DEPTH = 100
"""Of lists and objects in a free value; one with more is kept as its text, which any reader can
follow."""


def value_of(raw: bytes) -> Any:
    """Return the JSON value in some bytes; NaN and infinity are floats.

    Raises:
        ValueError: it is no JSON, no UTF-8, or nested too deeply.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    try:
        value = json.loads(raw.decode("utf-8-sig"))
        if b"\\ud" in raw.lower():
            whole_characters = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
            value = json.loads(whole_characters)
    except RecursionError:
        message = "is nested too deeply"
        raise ValueError(message) from None
    return value


def object_in(value: object, *keys: str) -> dict[str, Any]:
    """Return the object at a path of keys; an empty one where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def number(value: object) -> float | None:
    """Return a finite number; true and false are 1 and 0, anything else is None."""
    if not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def whole(value: object, most: int = MAX_QUANTITY) -> int | None:
    """Return a whole number from 0 to `most`, also where it is written as `3.0`."""
    found = number(value)
    if found is None or isinstance(value, bool) or not 0 <= found <= most or found % 1:
        return None
    return int(found)


def text(value: object) -> str:
    """Return a text as it is, nothing for null, and any other value as its JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "(cannot be written as JSON; the original has it)"


def free(value: Any) -> JsonValue:
    """Return any JSON value so that every reader can follow it."""
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return value
    try:
        written = orjson.dumps(value).decode()
        if "null" in written:  # which it also writes for what is beyond any number, such as 1e999
            json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):  # deeper, or a number longer, than it writes
        return text(value)
    return value if written.count("[") + written.count("{") <= MAX_DEPTH else written

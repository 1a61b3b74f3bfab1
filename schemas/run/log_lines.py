"""One line of results.jsonl to a record, strictly: nothing is rounded, dropped or guessed.

Arrow and DuckDB both make 2 of 2.5 without a word, and every JSON reader keeps the last of two
equal keys; so each line is checked before a bulk reader sees it. `schemas.lake.parse_log` does that
for many lines at once, and asks this room about every line that is not written as we write it.
"""

from __future__ import annotations

import json
from typing import Any

import orjson
from pydantic import ValidationError

from schemas.run.result import Event, Result


class LineError(ValueError):
    """The line is no record; the text says why."""


def parse_line(line: bytes) -> Result | Event:
    """Return the record on a line that ends in a newline; fields we do not know are passed over.

    Raises:
        LineError: it is not JSON, has a key twice, or does not fit the declaration.
    """
    kind = content_of(line).get("record_type")
    try:
        if kind == "result":
            return Result.model_validate_json(line, strict=True, extra="ignore")
        if kind == "event":
            return Event.model_validate_json(line, strict=True, extra="ignore")
    except ValidationError as exc:
        raise LineError(misfit(exc)) from exc
    message = f"record_type {kind!r} is unknown"
    raise LineError(message)


def misfit(exc: ValidationError) -> str:
    """Return the first thing that does not fit a declaration, in a sentence."""
    first = exc.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"`{where}`: {first['msg']}"


def content_of(line: bytes) -> dict[str, Any]:
    """Return the JSON object on a line; long integers may be rounded.

    Raises:
        LineError: there is none, or it has a key twice.
    """
    try:
        content = orjson.loads(line)
        if orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE) != line:
            content = _with_single_keys(line)
    except (orjson.JSONDecodeError, RecursionError, orjson.JSONEncodeError) as exc:
        message = f"not a JSON object ({exc})"
        raise LineError(message) from exc
    if not isinstance(content, dict):
        message = f"not a JSON object (found {type(content).__name__})"
        raise LineError(message)
    return content


def _with_single_keys(line: bytes) -> Any:
    """Return the content of a line that was not written as we write: spaces, or a key twice.

    A line that reads and writes back to its own bytes has no key twice, which is ten times
    quicker to find out.
    """
    return json.loads(line, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        message = f"the key {twice!r} stands there twice"
        raise LineError(message)
    return content

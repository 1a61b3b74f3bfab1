"""Whether a log of the older tool has a line to take, and if none why, field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from schemas.errors import ConfigError, Problem
from schemas.lake.foreign_rows import DocumentResult
from schemas.run.log_lines import LineError, content_of

MOST_FOUND = 60
"""Characters of a value that a message shows."""

KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
"""Names that a JSON schema has for kinds of values, in words."""


def has_result(log: Path) -> bool:
    """Return whether any line of a log is a result.

    Raises:
        OSError: it cannot be read.
    """
    with log.open("rb") as lines:
        return any(line.endswith(b"\n") and _is_result(line) for line in lines)


def refuse_all(logs: Sequence[Path]) -> None:
    """Refuse logs of which not one line can be taken.

    Raises:
        ConfigError: always; names each field that is missing or wrong, where it first is.
    """
    raise ConfigError([problem for log in logs for problem in _problems(log)])


def _is_result(line: bytes) -> bool:
    try:
        if content_of(line).get("record_type") != "result":
            return False
        DocumentResult.model_validate_json(line, strict=True, extra="ignore")
    except (LineError, ValidationError):
        return False
    return True


def _problems(log: Path) -> Iterator[Problem]:
    yield Problem(log, "has no line that is a result, so there is nothing to import")
    known: set[tuple[object, ...]] = set()
    with log.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            for key, problem in _of_line(log, number, line):
                if key not in known:
                    known.add(key)
                    yield problem


def _of_line(log: Path, number: int, line: bytes) -> Iterator[tuple[tuple[object, ...], Problem]]:
    """Yield what is wrong with a line, each with a key that is the same on every line like it."""
    try:
        kind = content_of(line).get("record_type")
    except LineError as exc:
        yield ("json",), Problem(log, str(exc), line=number)
        return
    if kind == "event":
        return
    if kind != "result":
        problem = Problem(
            log, "is no kind of line", "record_type", number, _short(kind), "result or event"
        )
        yield ("record_type",), problem
    try:
        DocumentResult.model_validate_json(line, strict=True, extra="ignore")
    except ValidationError as exc:
        for one in exc.errors():
            field = str(one["loc"][0]) if one["loc"] else ""
            is_missing = one["type"] == "missing"
            what = "is missing" if is_missing else one["msg"]
            found = "nothing" if is_missing else _short(one["input"])
            yield (field, one["type"]), Problem(log, what, field, number, found, _allowed(field))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MOST_FOUND else text[:MOST_FOUND] + "…"


def _allowed(field: str) -> str | None:
    """Return the kinds of values that a field may have, in words."""
    declared: dict[str, Any] = DocumentResult.model_json_schema()["properties"].get(field, {})
    if "enum" in declared:
        return ", ".join(map(str, declared["enum"]))
    if "const" in declared:
        return str(declared["const"])
    kinds = [one.get("type") for one in declared.get("anyOf", [declared])]
    words = [KINDS[kind] for kind in kinds if kind in KINDS]
    return " or ".join(words) or None

"""Rows that the older tool's owner published: a CSV or JSON file with one result a row.

A run folder of that tool was never published, only such rows: model, prompt, time, outcome. They
become lines in the shape of its results.jsonl, and are read from there like those of any run of it;
what a row does not say stays null. The file itself is kept beside them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from analyze.importers.defaults import file_moment
from schemas.errors import ConfigError, Problem
from schemas.run.import_record import DocumentResult

PROVIDER = "openclaw-bench"
"""Of rows that name none."""

NEEDED = ("model", "prompt_id", "e2e_ms", "success", "objective_pass", "failure_type")
"""Columns without which a row has no verdict."""

COLUMNS = {
    **dict.fromkeys(("model", "prompt_id", "provider", "thinking_level", "prompt_name"), str),
    **dict.fromkeys(("availability_status", "failure_type", "violation", "raw_output"), str),
    **dict.fromkeys(("e2e_ms", "ttft_ms", "input_tokens", "output_tokens"), int),
    **dict.fromkeys(("started_at_ms", "ended_at_ms"), int),
    **dict.fromkeys(("success", "objective_pass", "tool_use_success"), bool),
}
"""Columns that are read, and what stands in them; others are kept in the file alone."""

REQUIRED = frozenset({"model", "prompt_id", "success"})
"""Of them, those that no row may leave empty."""

WORDS = {str: "text", int: "a whole number from 0 on", bool: "true or false"}

TRUTH = {"true": True, "false": False}

MAX_FILE_BYTES = 2**28
MAX_VALUE_CHARS = 40
"""Characters of a value that a message shows."""


class Row(NamedTuple):
    """One row, with the number of the line (CSV) or place (JSON) it stands at."""

    number: int
    values: Mapping[str, Any]


def lines_of_rows(path: Path, run_id: str) -> list[bytes]:
    """Return the lines of results.jsonl that a file of rows makes.

    Args:
        path: a `.csv` or `.json` file.
        run_id: of the run that they become.

    Raises:
        ConfigError: it is no such file, lacks columns, or a row does not fit; names all of it.
        OSError: it cannot be read.
    """
    if path.stat().st_size > MAX_FILE_BYTES:
        what = "is too large to be rows that somebody published"
        raise ConfigError([Problem(path, what, allowed=f"at most {MAX_FILE_BYTES // 2**20} MB")])
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as exc:
        raise ConfigError([Problem(path, "is not UTF-8", found=f"byte {exc.start:,}")]) from exc
    is_json = path.suffix.lower() == ".json"
    rows, columns = _json_rows(path, text) if is_json else _csv_rows(path, text)
    _require_columns(path, rows, columns)
    moment, problems = file_moment(path), []
    lines: list[bytes] = []
    for row in rows:
        record, wrong = _record(path, row, run_id, moment)
        problems += wrong
        if not wrong:
            lines.append(json.dumps(record, ensure_ascii=False).encode() + b"\n")
    if problems:
        raise ConfigError(problems)
    return lines


def _csv_rows(path: Path, text: str) -> tuple[list[Row], frozenset[str]]:
    reader = csv.DictReader(text.splitlines(keepends=True), restkey="", strict=True)
    rows = []
    try:
        for values in reader:
            row = {name: None if value == "" else value for name, value in values.items()}
            rows.append(Row(reader.line_num, row))
    except csv.Error as exc:
        raise ConfigError([Problem(path, f"is no CSV: {exc}", line=reader.line_num)]) from exc
    return rows, frozenset(reader.fieldnames or ())


def _json_rows(path: Path, text: str) -> tuple[list[Row], frozenset[str]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise ConfigError([Problem(path, f"is no JSON: {exc}")]) from exc
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        found = "an object" if isinstance(value, dict) else type(value).__name__
        what = "has no rows; counts and rates alone are no results"
        raise ConfigError([Problem(path, what, found=found, allowed="a list of objects")])
    rows = [Row(number, row) for number, row in enumerate(value, 1)]
    return rows, frozenset().union(*(row.values for row in rows))


def _require_columns(path: Path, rows: Iterable[Row], columns: frozenset[str]) -> None:
    """Check that there is a row, and every column that a verdict takes.

    Raises:
        ConfigError: some are missing; names all of them at once.
    """
    found = ", ".join(sorted(columns)[:20]) or "nothing"
    missing = [name for name in NEEDED if name not in columns]
    problems = [
        Problem(path, "is missing", name, found=found, allowed=_allowed(name)) for name in missing
    ]
    if not problems and not rows:
        problems = [Problem(path, "has no row, so there is nothing to import")]
    if problems:
        raise ConfigError(problems)


def _allowed(name: str) -> str:
    return WORDS[COLUMNS[name]] + ("" if name in REQUIRED else ", or empty")


def _record(
    path: Path, row: Row, run_id: str, moment_ms: int
) -> tuple[dict[str, Any], list[Problem]]:
    """Return a row as a record of the older tool, and what is wrong with it."""
    values: dict[str, Any] = {}
    wrong = []
    for name in COLUMNS:
        try:
            values[name] = _value(name, row.values.get(name))
        except ValueError:
            value = row.values.get(name)
            found = "nothing" if value is None else str(value)[:MAX_VALUE_CHARS]
            allowed = _allowed(name)
            what = "is no value of this field"
            wrong.append(Problem(path, what, name, line=row.number, found=found, allowed=allowed))
    if wrong:
        return {}, wrong
    record = _whole(values, run_id, moment_ms)
    try:
        DocumentResult.model_validate_json(json.dumps(record), strict=True)
    except ValidationError as exc:
        return {}, list(_misfits(path, row.number, exc))
    return record, []


def _misfits(path: Path, number: int, exc: ValidationError) -> Iterator[Problem]:
    for one in exc.errors():
        found = str(one["input"])[:MAX_VALUE_CHARS]
        yield Problem(path, one["msg"], str(one["loc"][0]), line=number, found=found)


def _value(name: str, value: Any) -> Any:
    """Return what stands in a field; None for nothing.

    Raises:
        ValueError: it is of another kind, or there is nothing where something has to be.
    """
    kind = COLUMNS[name]
    if value is None:
        if name in REQUIRED:
            raise ValueError(name)
        return None
    if kind is str or not isinstance(value, str):
        if type(value) is not kind:
            raise ValueError(name)
        return value
    if kind is bool:
        if value.lower() not in TRUTH:
            raise ValueError(name)
        return TRUTH[value.lower()]
    if not value.isascii() or not value.isdigit():
        raise ValueError(name)
    return int(value)


def _whole(values: Mapping[str, Any], run_id: str, moment_ms: int) -> dict[str, Any]:
    """Return all fields that a line of the older tool has."""
    began = moment_ms if values["started_at_ms"] is None else values["started_at_ms"]
    ended = began + (values["e2e_ms"] or 0)
    known = {
        "provider": values["provider"] or PROVIDER,
        "availability_status": values["availability_status"]
        or ("ok" if values["success"] else "error"),
        "started_at_ms": began,
        "ended_at_ms": ended if values["ended_at_ms"] is None else values["ended_at_ms"],
        "raw_output": values["raw_output"] or "",
        "tool_use_success": values["tool_use_success"] or False,
    }
    fixed = {"record_type": "result", "run_id": run_id, "parsed_output": None}
    return fixed | dict(values) | known | {"tool_calls": [], "tool_call_count": 0}

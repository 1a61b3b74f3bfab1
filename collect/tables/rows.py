"""Reads a table: CSV with a header, JSONL, or a JSON array of objects.

What cannot be read as it was meant is an error with its line and what to do, never a guess: a row
that is shifted by one cell would ask one question and expect the answer to another.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue

from collect.config.prompt_lists import (
    MAX_ENTRIES,
    MAX_ENTRY_BYTES,
    MAX_LIST_BYTES,
    json_lines,
    json_objects,
)
from schemas.errors import ConfigError, Problem, counted
from schemas.io.yaml import MAX_PROBLEMS, decode, read_bytes

DELIMITERS = ",;\t|"
KINDS = (".csv", ".tsv", ".jsonl", ".json")
TORN = "the file seems to be cut off: copy or export it again"


@dataclass(frozen=True, slots=True)
class Row:
    """One row: where it stands, and its cells by column; numbers are texts as they are written."""

    line: int
    cells: dict[str, JsonValue]


@dataclass(frozen=True)
class Table:
    """A table's columns in order, and its rows."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def read_table(path: Path) -> Table:
    """Read a table whole.

    Raises:
        ConfigError: every problem of the file, each with its line.
    """
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise ConfigError(
            [Problem(path, "is no table", found=kind or None, allowed=", ".join(KINDS))]
        )
    raw = read_bytes(path, MAX_LIST_BYTES)
    try:
        table = _csv(path, raw, kind) if kind in {".csv", ".tsv"} else _json(path, raw, kind)
    except ConfigError as exc:
        advice = "save it as UTF-8 (spreadsheets call it `CSV UTF-8`)"
        raise ConfigError(
            replace(one, advice=advice) if one.what == "is not UTF-8 text" else one
            for one in exc.problems
        ) from exc
    if not table.rows:
        raise ConfigError([Problem(path, "holds no rows", advice="a row is a case")])
    return table


class _Problems(list[Problem]):
    """Problems of a file's lines; adding the one that is too many ends the reading."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def add(self, line: int, what: str, advice: str | None = None) -> None:
        """Note what is wrong with a line."""
        self.append(Problem(self.path, what, line=line, advice=advice))
        if len(self) >= MAX_PROBLEMS:
            raise ConfigError(self)


def _too_many(path: Path, line: int) -> ConfigError:
    advice = "take a part of it, or split it into several tables"
    what = f"holds more than {MAX_ENTRIES:,} rows"
    return ConfigError([Problem(path, what, line=line, advice=advice)])


def _csv(path: Path, raw: bytes, kind: str) -> Table:
    text = decode(path, raw)
    limit = csv.field_size_limit(MAX_ENTRY_BYTES)
    try:
        records = _records(path, text, "\t" if kind == ".tsv" else _delimiter(text))
        line, header = next(records, (1, []))
        columns = _columns(path, line, header)
        problems = _Problems(path)
        rows: list[Row] = []
        for line, cells in records:
            if len(rows) == MAX_ENTRIES:
                raise _too_many(path, line)
            while len(cells) > len(columns) and not cells[-1]:
                cells.pop()
            if len(cells) == len(columns):
                rows.append(Row(line, {**dict(zip(columns, cells, strict=True))}))
                continue
            is_torn = len(cells) < len(columns) and text.count("\n") + 1 == line
            quotes = "text with a delimiter or a line end in it stands in quotes"
            advice = TORN if is_torn else quotes
            what = f"has {counted(len(cells), 'cell')}, the header has {len(columns)}"
            problems.add(line, what, advice)
    finally:
        csv.field_size_limit(limit)
    if problems:
        raise ConfigError(problems)
    return Table(path, columns, tuple(rows))


def _records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line, cells) of each record that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as exc:
            raise ConfigError([_broken(path, line, str(exc))]) from exc
        if any(cell.strip() for cell in cells):
            yield line, cells


def _broken(path: Path, line: int, reason: str) -> Problem:
    """Return what Python's reader of CSV says, in words for whoever has the file open."""
    if "unexpected end" in reason:
        what = "opens a quote that never closes"
        advice = f"a quote inside quotes is written twice; or {TORN}"
        return Problem(path, what, line=line, advice=advice)
    if "field larger" in reason:
        what = f"holds a cell of more than {MAX_ENTRY_BYTES:,} characters"
        return Problem(path, what, line=line, advice="is a quote missing that should close it?")
    if "expected after" in reason:
        what = "goes on behind a closing quote"
        return Problem(path, what, line=line, advice="a quote inside quotes is written twice")
    return Problem(path, f"is not valid CSV: {reason}", line=line)


def _delimiter(text: str) -> str:
    """Return the delimiter that cuts the first line into the most cells."""
    first = text.lstrip("\r\n").partition("\n")[0]
    counts = {one: len(next(csv.reader([first], delimiter=one), [])) for one in DELIMITERS}
    return max(DELIMITERS, key=lambda one: counts[one])


def _columns(path: Path, line: int, header: list[str]) -> tuple[str, ...]:
    """Return the names of columns; one without a name is called by its number."""
    if not header:
        raise ConfigError([Problem(path, "is empty", advice="the first line names the columns")])
    names = [name.strip() or f"column_{at}" for at, name in enumerate(header, 1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        advice = "give each column a name of its own in the first line"
        raise ConfigError(
            Problem(path, "two columns have this name", name, line, advice=advice) for name in twice
        )
    return tuple(names)


class _WrongValueError(ValueError):
    """What JSON takes and a table cannot mean."""


def _json(path: Path, raw: bytes, kind: str) -> Table:
    pieces = json_lines(path, raw) if kind == ".jsonl" else json_objects(path, raw)
    problems = _Problems(path)
    rows: list[Row] = []
    columns: dict[str, None] = {}
    for number, (line, piece) in enumerate(pieces):
        if number == MAX_ENTRIES:
            raise _too_many(path, line)
        try:
            cells = json.loads(
                piece,
                object_pairs_hook=_unique,
                parse_int=str,
                parse_float=str,
                parse_constant=_no_constant,
            )
        except json.JSONDecodeError as exc:
            is_torn = kind == ".jsonl" and not raw.endswith(b"\n") and raw.endswith(piece)
            advice = TORN if is_torn else None
            problems.add(line, f"is not valid JSON: {exc.msg}", advice)
        except _WrongValueError as exc:
            problems.add(line, str(exc))
        else:
            if not isinstance(cells, dict):
                problems.add(line, "should be an object", "one object is one case")
                continue
            columns |= dict.fromkeys(cells)
            rows.append(Row(line, cells))
    if problems:
        raise ConfigError(problems)
    return Table(path, tuple(columns), tuple(rows))


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    cells = dict(pairs)
    if len(cells) < len(pairs):
        name = next(name for name, count in Counter(key for key, _ in pairs).items() if count > 1)
        message = f"holds `{name}` twice"
        raise _WrongValueError(message)
    return cells


def _no_constant(name: str) -> JsonValue:
    message = f"is not valid JSON: {name} is none"
    raise _WrongValueError(message)

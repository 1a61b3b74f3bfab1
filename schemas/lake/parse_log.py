"""Many lines to columns at once: the quick way for lines that are as we write them.

A line that a struct reads and writes back to its own bytes has no key twice, no field that we do
not know and no number that was rounded. If its texts keep their patterns as well, the model would
accept it. Every other line goes the strict way, which decides and says why.
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import orjson
from pydantic import BaseModel

from schemas.io.arrow import json_text
from schemas.lake.fast_structs import Shape, shape_of
from schemas.lake.tables import Columns
from schemas.run.log_lines import LineError, parse_line
from schemas.run.plan import PlannedTrial, plan_line
from schemas.run.result import Event, Result

DEEPEST = 100
"""Brackets in a free JSON value up to which every reader follows."""

NOT_QUICK = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

NULL = b"null"


@dataclass(frozen=True)
class Records:
    """What lines of a log hold: columns of results and of events, each with its `record_no`."""

    results: Columns
    events: Columns
    problems: tuple[tuple[int, str], ...] = ()
    """Numbers of lines that could not be read, and why."""


class _Reader:
    """Reads lines that hold records of one of several kinds.

    Args:
        models: the kinds.
        strictly: returns what a line holds, written as we write it.
    """

    def __init__(self, *models: type[BaseModel], strictly: Callable[[bytes], bytes]) -> None:
        self._shapes = tuple(shape_of(model) for model in models)
        kinds = functools.reduce(operator.or_, (shape.struct for shape in self._shapes))
        decoder, encoder = msgspec.json.Decoder(kinds), msgspec.json.Encoder()
        self._decode, self._decode_lines = decoder.decode, decoder.decode_lines
        self._encode, self._encode_lines = encoder.encode, encoder.encode_lines
        self._strictly = strictly

    def read(self, lines: Sequence[bytes], first: int) -> tuple[list[Columns], dict[int, str]]:
        """Return the columns of each kind, and why lines could not be read, by number."""
        found = self._all(lines) or [self._one(line) for line in lines]
        columns = self._checked(found, first)
        if columns is None:
            found = [None] * len(lines)
        problems = {}
        if None in found:
            for place, line in enumerate(lines):
                if found[place] is None:
                    try:
                        found[place] = self._strict(line)
                    except LineError as exc:
                        problems[first + place] = str(exc)
            columns = None
        return columns or [self._columns(shape, found, first) for shape in self._shapes], problems

    def _all(self, lines: Sequence[bytes]) -> list[Any] | None:
        content = b"".join(lines)
        try:
            found: list[Any] = self._decode_lines(content)
        except NOT_QUICK:
            return None
        same = len(found) == len(lines) and self._encode_lines(found) == content
        return found if same else None

    def _one(self, line: bytes) -> Any:
        try:
            record = self._decode(line)
        except NOT_QUICK:
            return None
        return record if self._encode(record) + b"\n" == line else None

    def _strict(self, line: bytes) -> Any:
        content = self._strictly(line)
        try:
            return self._decode(content)
        except msgspec.ValidationError as exc:
            message = f"fits no column ({exc})"
            raise LineError(message) from exc

    def _checked(self, found: Sequence[Any], first: int) -> list[Columns] | None:
        """Return the columns of what was read quickly; None when a model might refuse some of it.

        Records that are None are passed over: the strict way has yet to read them.
        """
        every = []
        for shape in self._shapes:
            columns = self._columns(shape, found, first, is_checked=False)
            if not columns or not shape.keeps_rules(columns):
                return None
            every.append(columns)
        return every

    def _columns(
        self, shape: Shape, found: Sequence[Any], first: int, *, is_checked: bool = True
    ) -> Columns:
        """Return the columns of one kind; nothing when a free value might not be what it seems."""
        mine, numbers = found, list(range(first, first + len(found)))
        if set(map(type, found)) != {shape.struct}:
            places = [place for place, one in enumerate(found) if type(one) is shape.struct]
            mine = [found[place] for place in places]
            numbers = [first + place for place in places]
        columns = shape.columns(mine)
        for name in shape.json_fields:
            texts = [_plain_text(value) for value in columns[name]]
            if False in texts:
                if not is_checked:
                    return {}
                texts = [
                    json_text(json.loads(bytes(value))) if text is False else text
                    for text, value in zip(texts, columns[name], strict=True)
                ]
            columns[name] = texts
        columns[shape.tag_field] = [shape.tag] * len(mine)
        columns["record_no"] = numbers
        return columns


def _plain_text(value: msgspec.Raw | None) -> str | Literal[False] | None:
    """Return a free JSON value as text; False when it is not written as we write it.

    One that reads and writes back to its own bytes has no key twice, and nothing was rounded.
    """
    if value is None:
        return None
    content = bytes(value)
    if content == NULL:
        return None
    if content.count(b"[") + content.count(b"{") > DEEPEST:
        return False
    try:
        return orjson.dumps(orjson.loads(content)) == content and content.decode()
    except orjson.JSONDecodeError:
        return False


def _strict_record(line: bytes) -> bytes:
    return parse_line(line).model_dump_json().encode()


def _strict_trial(line: bytes) -> bytes:
    return plan_line(PlannedTrial.model_validate_json(line))


@functools.cache
def _log_reader() -> _Reader:
    return _Reader(Result, Event, strictly=_strict_record)


@functools.cache
def _plan_reader() -> _Reader:
    return _Reader(PlannedTrial, strictly=_strict_trial)


def read_records(lines: Sequence[bytes], first: int = 1) -> Records:
    """Return what whole lines of results.jsonl hold; `first` is the number of the first of them."""
    (results, events), problems = _log_reader().read(lines, first)
    return Records(results, events, tuple(problems.items()))


def read_plan(lines: Sequence[bytes]) -> Columns:
    """Return what lines of plan.jsonl hold.

    Raises:
        ValidationError: a line is no planned trial.
        LineError: a number fits no column.
    """
    (columns,), problems = _plan_reader().read(lines, 1)
    for problem in problems.values():
        raise LineError(problem)
    return columns

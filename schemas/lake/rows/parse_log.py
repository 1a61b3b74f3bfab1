"""Many lines to columns at once: the quick way for lines that are as we write them.

A line that a struct reads and writes back to its own bytes has no key twice, no field that we do
not know and no number that was rounded. If its texts keep their patterns as well, the model would
accept it. Every other line goes the strict way, which decides and says why.

A msgspec struct reads a line ten times quicker than its pydantic model. It is derived, so that
there is one definition. It may refuse what the model accepts, since the model is asked then, and
must never accept what the model refuses; rules that no struct has (patterns, lengths) are kept
beside it and held against whole columns.
"""

from __future__ import annotations

import functools
import json
import operator
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import orjson
from annotated_types import Ge, Le
from msgspec import UNSET
from pydantic import BaseModel, StringConstraints
from pydantic.fields import FieldInfo

from schemas.base import Unit
from schemas.errors import UnmappedType
from schemas.io.arrow import is_json_text, json_text
from schemas.lake.rows.tables import Columns
from schemas.run.config import PlannedTrial, plan_line
from schemas.run.evaluation import EVALUATION_LINES, parse_evaluation
from schemas.run.result import Event, LineError, Result, parse_line

TAG = "record_type"

INT64 = {"ge": -(2**63), "le": 2**63 - 1}
"""What a column of integers holds, whatever the model allows."""

MAX_DEPTH = 100
"""Brackets in a free JSON value up to which every reader follows."""

NOT_QUICK = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

NULL = b"null"


@dataclass(frozen=True)
class TextRule:
    """A pattern, a longest length, or both, of the texts at one place of a record."""

    path: tuple[str, ...]
    pattern: re.Pattern[str]
    max_length: int | None

    def holds(self, texts: set[str]) -> bool:
        """Return whether every text keeps the rule; one after the other takes ten times longer."""
        if not texts:
            return True
        one_a_line = "\n".join(texts) + "\n"
        if one_a_line.count("\n") != len(texts) or self.pattern.fullmatch(one_a_line) is None:
            return False
        return self.max_length is None or max(map(len, texts)) <= self.max_length


@dataclass(frozen=True)
class Shape:
    """A struct, and what belongs to it."""

    model: type[BaseModel]
    struct: type[msgspec.Struct]
    tag: str
    """What the record_type of every such line is."""
    rules: tuple[TextRule, ...]
    json_fields: tuple[str, ...]
    """Fields that hold any JSON value, as the bytes that stood there."""
    defaults: dict[str, Any]
    """Of fields that a line may leave out; they are UNSET then."""

    def columns(self, records: Sequence[Any]) -> dict[str, list[Any]]:
        """Return the values of each field; what a record left out is the field's default."""
        names = self.struct.__struct_fields__
        rows = map(msgspec.structs.astuple, records)
        if not records:
            return {name: [] for name in names}
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        for name, default in self.defaults.items():
            if UNSET in columns[name]:
                columns[name] = [default if value is UNSET else value for value in columns[name]]
        return columns


def _texts(columns: Mapping[str, list[Any]], path: tuple[str, ...]) -> set[str]:
    values = columns[path[0]]
    for name in path[1:]:
        read = attrgetter(name)
        values = list(map(read, values))
    return set(values) - {None, UNSET}


@functools.cache
def shape_of(model: type[BaseModel]) -> Shape:
    """Return the struct of a model.

    Raises:
        UnmappedType: the model has something that a struct cannot say; extend this module.
    """
    struct, rules = _struct(model, ())
    return Shape(
        model,
        struct,
        model.model_fields[TAG].default,
        tuple(rules),
        tuple(name for name, info in model.model_fields.items() if is_json_text(info.metadata)),
        {
            name: info.default
            for name, info in model.model_fields.items()
            if not info.is_required() and name != TAG
        },
    )


def _struct(
    model: type[BaseModel], path: tuple[str, ...]
) -> tuple[type[msgspec.Struct], list[TextRule]]:
    decorators = model.__pydantic_decorators__
    if decorators.model_validators or decorators.field_validators:
        message = f"{model.__name__} has validators of its own, which no struct has"
        raise UnmappedType(message)
    rules: list[TextRule] = []
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    tag = None
    for name, info in model.model_fields.items():
        if name == TAG and not path:
            tag = info.default
            continue
        kind = _kind(info.annotation, info.metadata, (*path, name), rules)
        if info.is_required():
            fields.append((name, kind))
        elif kind is msgspec.Raw:
            fields.append((name, kind, UNSET))  # never beside another type in a union
        else:
            fields.append((name, Union[kind, msgspec.UnsetType], UNSET))  # noqa: UP007
    struct = msgspec.defstruct(
        model.__name__, fields, tag_field=tag and TAG, tag=tag, gc=False, kw_only=True
    )
    return struct, rules


def _kind(
    annotation: Any, marks: Sequence[Any], path: tuple[str, ...], rules: list[TextRule]
) -> Any:
    """Return the type of a struct's field, and note the rules of texts."""
    if is_json_text(marks):
        return msgspec.Raw
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(args[0], [*marks, *args[1:]], path, rules)
    if origin in {Union, types.UnionType}:
        present = [arg for arg in args if arg is not types.NoneType]
        if len(present) == 1:
            return Union[_kind(present[0], marks, path, rules), None]  # noqa: UP007
    if origin is Literal and not marks:
        return annotation
    if origin is tuple and args[1:] == (Ellipsis,) and not marks:
        nested: list[TextRule] = []
        kind = _kind(args[0], [], path, nested)
        if not nested:
            return list[kind]  # type: ignore[valid-type]
    if annotation in {bool, str, int, float}:
        return _scalar(annotation, list(_flat(marks)), path, rules)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and not marks:
        struct, nested = _struct(annotation, path)
        rules += nested
        return struct
    message = f"{'.'.join(path)}: no struct has {annotation!r}"
    raise UnmappedType(message)


def _flat(marks: Iterable[Any]) -> Iterator[Any]:
    """Return marks without those that say nothing about a value, and those inside others."""
    for mark in marks:
        if isinstance(mark, FieldInfo):
            yield from _flat(mark.metadata)
        elif not isinstance(mark, Unit):
            yield mark


def _scalar(kind: Any, marks: Sequence[Any], path: tuple[str, ...], rules: list[TextRule]) -> Any:
    limits: dict[str, Any] = dict(INT64) if kind is int else {}
    for mark in marks:
        if isinstance(mark, Ge):
            limits["ge"] = mark.ge
        elif isinstance(mark, Le):
            limits["le"] = mark.le
        elif isinstance(mark, StringConstraints) and mark.pattern and not mark.strip_whitespace:
            pattern = re.compile(f"(?:(?:{mark.pattern})\n)*", re.MULTILINE)
            rules.append(TextRule(path, pattern, mark.max_length))
        else:
            message = f"{'.'.join(path)}: no struct has {mark!r}"
            raise UnmappedType(message)
    return Annotated[kind, msgspec.Meta(**limits)] if limits else kind


@dataclass(frozen=True)
class Records:
    """What lines of a log hold: columns of results and of events, each with its `record_no`."""

    results: Columns
    events: Columns
    problems: tuple[tuple[int, str], ...] = ()
    """Numbers of lines that could not be read, and why."""


class _Reader:
    """Reads lines of several kinds of records; `strictly` returns a line as we write it."""

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
            if not columns:
                return None
            if not all(rule.holds(_texts(columns, rule.path)) for rule in shape.rules):
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
        columns[TAG] = [shape.tag] * len(mine)
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
    if content.count(b"[") + content.count(b"{") > MAX_DEPTH:
        return False
    try:
        return orjson.dumps(orjson.loads(content)) == content and content.decode()
    except orjson.JSONDecodeError:
        return False


@functools.cache
def _log_reader() -> _Reader:
    return _Reader(Result, Event, strictly=lambda line: parse_line(line).model_dump_json().encode())


@functools.cache
def _evaluation_reader() -> _Reader:
    return _Reader(
        *EVALUATION_LINES.values(),
        strictly=lambda line: parse_evaluation(line).model_dump_json().encode(),
    )


@functools.cache
def _plan_reader() -> _Reader:
    return _Reader(
        PlannedTrial, strictly=lambda line: plan_line(PlannedTrial.model_validate_json(line))
    )


def read_records(lines: Sequence[bytes], first: int = 1) -> Records:
    """Return what whole lines of results.jsonl hold; `first` is the number of the first of them."""
    (results, events), problems = _log_reader().read(lines, first)
    return Records(results, events, tuple(problems.items()))


def read_evaluations(
    lines: Sequence[bytes], first: int = 1
) -> tuple[dict[str, Columns], dict[int, str]]:
    """Return what whole lines of evaluations.jsonl hold, and why others hold nothing, by number.

    The columns are by the record_type of their lines.
    """
    every, problems = _evaluation_reader().read(lines, first)
    return dict(zip(EVALUATION_LINES, every, strict=True)), problems


def read_plan(lines: Sequence[bytes], first: int = 1) -> Columns:
    """Return what lines of plan.jsonl hold; `first` is the number of the first of them.

    Raises:
        ValidationError: a line is no planned trial.
        LineError: a number fits no column.
    """
    (columns,), problems = _plan_reader().read(lines, first)
    for problem in problems.values():
        raise LineError(problem)
    return columns

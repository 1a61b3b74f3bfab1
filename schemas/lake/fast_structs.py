"""Pydantic model to msgspec struct: what reads a line ten times quicker than the model itself.

A struct is derived, so that there is one definition. It may refuse what the model accepts, since
the model is asked then, and must never accept what the model refuses; rules that no struct has
(patterns, lengths) are kept beside it and held against whole columns.
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from annotated_types import Ge, Le
from msgspec import UNSET
from pydantic import BaseModel, StringConstraints
from pydantic.fields import FieldInfo

from schemas.base import JsonTextMarker, Unit
from schemas.errors import UnmappedType

TAG = "record_type"

INT64 = {"ge": -(2**63), "le": 2**63 - 1}
"""What a column of integers holds, whatever the model allows."""


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
    tag_field: str = TAG

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

    def keeps_rules(self, columns: Mapping[str, list[Any]]) -> bool:
        """Return whether all texts of columns keep the model's rules."""
        return all(rule.holds(_texts(columns, rule.path)) for rule in self.rules)


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
        tuple(name for name, info in model.model_fields.items() if _is_json(info.metadata)),
        {
            name: info.default
            for name, info in model.model_fields.items()
            if not info.is_required() and name != TAG
        },
    )


def _is_json(marks: Iterable[object]) -> bool:
    return any(isinstance(mark, JsonTextMarker) for mark in marks)


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
    if _is_json(marks):
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

"""Pydantic model to Arrow schema: the only place where a Python type becomes a column type."""

from __future__ import annotations

import functools
import json
import types
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import orjson
import pyarrow as pa
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from schemas.base import JsonTextMarker, Unit
from schemas.errors import UnmappedType

Model = TypeVar("Model", bound=BaseModel)

SCALARS: dict[Any, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: pa.timestamp("us"),
}


def arrow_type(annotation: Any) -> pa.DataType:
    """Return the Arrow type of a type annotation.

    Raises:
        UnmappedType: the annotation has none; extend this function.
    """
    if annotation in SCALARS:
        return SCALARS[annotation]
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return arrow_type(args[0])
    if origin is Literal:
        kinds = {type(value) for value in args}
        if len(kinds) == 1:
            return arrow_type(kinds.pop())
    if origin in {Union, types.UnionType}:
        present = [arg for arg in args if arg is not types.NoneType]
        if len(present) == 1:
            return arrow_type(present[0])
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return pa.list_(arrow_type(args[0]))
    if origin is dict and args[0] is str:
        return pa.map_(pa.string(), arrow_type(args[1]))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return pa.struct([_part(name, info) for name, info in annotation.model_fields.items()])
    message = f"no Arrow type for {annotation!r}"
    raise UnmappedType(message)


def is_json_text(marks: Iterable[object]) -> bool:
    """Return whether the field with these marks holds any JSON value, stored as JSON text."""
    return any(isinstance(mark, JsonTextMarker) for mark in marks)


def _unit(info: FieldInfo) -> str | None:
    """Return the unit of a field; `X | None` keeps its marks inside the union."""
    nested = [arg for arg in get_args(info.annotation) if get_origin(arg) is Annotated]
    marks = [*info.metadata, *(mark for arg in nested for mark in get_args(arg)[1:])]
    return next((mark.name for mark in marks if isinstance(mark, Unit)), None)


def _field(name: str, info: FieldInfo) -> pa.Field:
    is_json = is_json_text(info.metadata)
    kind = pa.string() if is_json else arrow_type(info.annotation)
    is_nullable = is_json or types.NoneType in get_args(info.annotation)
    metadata = {"description": info.description, "unit": _unit(info)}
    known = {key: value for key, value in metadata.items() if value}
    return pa.field(name, kind, nullable=is_nullable, metadata=known or None)


def _part(name: str, info: FieldInfo) -> pa.Field:
    """Return a field of a nested record; null stands for its default, as of rows before it was."""
    field = _field(name, info)
    return field.with_nullable(field.nullable or not info.is_required())


def arrow_schema(
    *models: type[BaseModel], only: Iterable[str] | None = None, drop: Iterable[str] = ()
) -> pa.Schema:
    """Return the columns of one or several models, in order: `only` these, and none to `drop`."""
    dropped = set(drop)
    wanted = None if only is None else set(only)
    return pa.schema(
        [
            _field(name, info)
            for model in models
            for name, info in model.model_fields.items()
            if name not in dropped and (wanted is None or name in wanted)
        ]
    )


def row_of(record: BaseModel) -> dict[str, Any]:
    """Return a record as a row: plain values, free JSON as text."""
    row = dict(vars(record))  # a third of what model_dump costs, which copies every value
    json_fields, nested_fields = _special_fields(type(record))
    for name in json_fields:
        if row[name] is not None:
            row[name] = json_text(row[name])
    for name in nested_fields:
        row[name] = _plain(row[name])
    return row


@functools.cache
def _special_fields(model: type[BaseModel]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the fields that hold free JSON, and of those that hold records."""
    json_fields = tuple(
        name for name, info in model.model_fields.items() if is_json_text(info.metadata)
    )
    nested_fields = tuple(
        field.name
        for field in arrow_schema(model, drop=json_fields)
        if pa.types.is_struct(field.type)
        or (pa.types.is_list(field.type) and pa.types.is_struct(field.type.value_type))
    )
    return json_fields, nested_fields


def _plain(value: Any) -> Any:
    """Return a record, or several of them, as plain values."""
    if isinstance(value, tuple):
        return [part.model_dump() for part in value]
    return None if value is None else value.model_dump()


def _without_nulls(value: Any) -> Any:
    """Return a nested row, or several of them, without what stands for a default."""
    if isinstance(value, dict):
        return {name: part for name, part in value.items() if part is not None}
    return value if value is None else [_without_nulls(part) for part in value]


def json_text(value: Any) -> str:
    """Return a free JSON value as the text that stands for it in a column; integers stay exact."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # an integer of more than 64 bits, which orjson has no form for
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def record_of(model: type[Model], row: dict[str, Any]) -> Model:
    """Return a row as the record it was made from; columns of other records are passed over."""
    values = {name: row[name] for name in model.model_fields if name in row}
    for name in values.keys() & set(_special_fields(model)[1]):
        values[name] = _without_nulls(values[name])
    for name, info in model.model_fields.items():
        if is_json_text(info.metadata) and isinstance(values.get(name), str):
            values[name] = json.loads(values[name])  # exact, where orjson rounds long integers
    return model.model_validate(values)

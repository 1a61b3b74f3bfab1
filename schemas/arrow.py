"""Pydantic model to Arrow schema: the only place where a Python type becomes a column type."""

from __future__ import annotations

import types
from collections.abc import Iterable
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
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return pa.struct([_field(name, info) for name, info in annotation.model_fields.items()])
    message = f"no Arrow type for {annotation!r}"
    raise UnmappedType(message)


def is_json_text(info: FieldInfo) -> bool:
    """Return whether the field holds any JSON value, stored as JSON text."""
    return any(isinstance(mark, JsonTextMarker) for mark in info.metadata)


def _unit(info: FieldInfo) -> str | None:
    """Return the unit of a field; `X | None` keeps its marks inside the union."""
    nested = [arg for arg in get_args(info.annotation) if get_origin(arg) is Annotated]
    marks = [*info.metadata, *(mark for arg in nested for mark in get_args(arg)[1:])]
    return next((mark.name for mark in marks if isinstance(mark, Unit)), None)


def _nullable(info: FieldInfo) -> bool:
    return is_json_text(info) or types.NoneType in get_args(info.annotation)


def _field(name: str, info: FieldInfo) -> pa.Field:
    kind = pa.string() if is_json_text(info) else arrow_type(info.annotation)
    metadata = {"description": info.description, "unit": _unit(info)}
    known = {key: value for key, value in metadata.items() if value}
    return pa.field(name, kind, nullable=_nullable(info), metadata=known or None)


def arrow_schema(
    *models: type[BaseModel], only: Iterable[str] | None = None, drop: Iterable[str] = ()
) -> pa.Schema:
    """Return the columns of one or several models, in order.

    Args:
        models: their fields follow each other.
        only: keep these fields.
        drop: leave these out.
    """
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
    row = record.model_dump()
    for name, info in type(record).model_fields.items():
        if is_json_text(info) and row[name] is not None:
            row[name] = orjson.dumps(row[name]).decode()
    return row


def record_of(model: type[Model], row: dict[str, Any]) -> Model:
    """Return a row as the record it was made from; columns of other records are passed over."""
    values = {name: row[name] for name in model.model_fields if name in row}
    for name, info in model.model_fields.items():
        if is_json_text(info) and isinstance(values.get(name), str):
            values[name] = orjson.loads(values[name])
    return model.model_validate(values)

"""Lists of values to Arrow columns of the declared types, without a dict for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import pyarrow as pa

Columns = dict[str, list[Any]]
"""Values by the name of the field, one for each row."""


def arrays_of(columns: Mapping[str, Sequence[Any]], schema: pa.Schema) -> dict[str, pa.Array]:
    """Return the columns that a table has as Arrow arrays, by name."""
    return {name: _array(columns[name], schema.field(name).type) for name in schema.names}


def table_from(arrays: Mapping[str, pa.Array], schema: pa.Schema) -> pa.Table:
    """Return a table of arrays; what else there is is passed over."""
    return pa.Table.from_arrays([arrays[name] for name in schema.names], schema=schema)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    is_plain = not pa.types.is_nested(kind)
    if is_plain and values and values[0] is None and values.count(None) == len(values):
        return pa.nulls(len(values), kind)  # as many columns are, and counting is quick
    if pa.types.is_struct(kind):
        return _struct_array(values, kind)
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type) and any(values):
        # A field that a line left out is no key here, and null in the column: its default.
        return pa.array(msgspec.to_builtins(list(values)), kind)
    return pa.array(values, kind)


def _struct_array(values: Sequence[Any], kind: pa.StructType) -> pa.Array:
    is_null = [value is None for value in values]
    if any(is_null):
        return pa.array([msgspec.to_builtins(value) for value in values], kind)
    parts = []
    for part in kind:
        found = map(attrgetter(part.name), values)
        parts.append(
            _array([None if value is msgspec.UNSET else value for value in found], part.type)
        )
    return pa.StructArray.from_arrays(parts, fields=list(kind))

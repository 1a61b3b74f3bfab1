"""schemas/json/lake.json: every raw table and column, made from the tables and the models."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from schemas.base import Record
from schemas.config.project import Thresholds
from schemas.failures import AvailabilityStatus, Cause, TrialStatus
from schemas.io.arrow import arrow_schema
from schemas.lake.layout import ALIASES
from schemas.lake.tables import TABLES
from schemas.run.alias import AliasRow

SCALARS: dict[pa.DataType, str] = {
    pa.string(): "VARCHAR",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
}


class FailureTypeRow(Record):
    """A row of `raw_failure_types`: what one failure_type means."""

    failure_type: str
    availability_status: AvailabilityStatus
    status: TrialStatus
    cause: Cause
    retryable: bool
    counts_against_model: bool


def lake_document() -> str:
    """Return lake.json: `{table: [{name, type, nullable, description, unit}]}`, as text.

    The columns of `thresholds`, a table of one row without a file, carry their `default` as well.
    """
    schemas = {
        **TABLES,
        ALIASES: arrow_schema(AliasRow),
        "thresholds": arrow_schema(Thresholds),
        "failure_types": arrow_schema(FailureTypeRow),
    }
    document = {table: [_column(field) for field in schema] for table, schema in schemas.items()}
    for column in document["thresholds"]:
        column["default"] = Thresholds.model_fields[column["name"]].default
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _column(field: pa.Field) -> dict[str, Any]:
    metadata = field.metadata or {}
    said = {key.decode(): value.decode() for key, value in metadata.items()}
    return {
        "name": field.name,
        "type": duckdb_type(field.type),
        "nullable": field.nullable,
        "description": said.get("description"),
        "unit": said.get("unit"),
    }


def duckdb_type(kind: pa.DataType) -> str:
    """Return an Arrow type as DuckDB writes it."""
    if pa.types.is_list(kind):
        return f"{duckdb_type(kind.value_type)}[]"
    if pa.types.is_map(kind):
        return f"MAP({duckdb_type(kind.key_type)}, {duckdb_type(kind.item_type)})"
    if pa.types.is_struct(kind):
        parts = ", ".join(f'"{part.name}" {duckdb_type(part.type)}' for part in kind)
        return f"STRUCT({parts})"
    return SCALARS[kind]

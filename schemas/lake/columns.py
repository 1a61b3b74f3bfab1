"""The columns of the lake's tables as plain data: what schemas/json/lake.json says.

Readers of the lake need names, types and meanings, and neither pyarrow nor the models, whose
imports cost more than most queries do. Needs nothing but the standard library.
"""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from typing import NamedTuple


class LakeColumn(NamedTuple):
    """One column of a raw table."""

    name: str
    type: str
    """As DuckDB writes it, such as `BIGINT` or `VARCHAR[]`."""
    nullable: bool
    description: str | None = None
    unit: str | None = None
    default: float | None = None
    """What the only row of `thresholds` holds unless the project says otherwise."""


@functools.cache
def lake_columns() -> dict[str, tuple[LakeColumn, ...]]:
    """Return the columns of every raw table, by the table's name without `raw_`."""
    tables = json.loads((files("schemas") / "json" / "lake.json").read_bytes())
    return {
        table: tuple(LakeColumn(**column) for column in columns)
        for table, columns in tables.items()
    }

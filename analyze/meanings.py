"""What each column of each view and raw table means: from the contracts and from lake.json."""

from __future__ import annotations

import functools

import duckdb

from analyze.rows import CONTRACTS
from schemas.lake_columns import LakeColumn, lake_columns


def meanings_of(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, str]:
    """Return the meaning of each column of a view, where one is declared.

    A view says itself what its columns mean, in its contract; a column of a view without one, or
    without a description there, means what the column of that name means in the raw tables.
    """
    columns = [row[0] for row in connection.execute(f"describe {name}").fetchall()]
    own = _declared(name)
    known = _raw() | _declared_anywhere()
    return {
        column: meaning
        for column in columns
        if (meaning := own.get(column) or known.get(column)) is not None
    }


def _declared(name: str) -> dict[str, str]:
    contract = CONTRACTS.get(name)
    fields = contract.model_fields if contract else {}
    return {column: field.description for column, field in fields.items() if field.description}


@functools.cache
def _declared_anywhere() -> dict[str, str]:
    """Return what columns mean in whichever view says it first."""
    found: dict[str, str] = {}
    for name in CONTRACTS:
        for column, meaning in _declared(name).items():
            found.setdefault(column, meaning)
    return found


@functools.cache
def _raw() -> dict[str, str]:
    found: dict[str, str] = {}
    for columns in lake_columns().values():
        for column in columns:
            if column.description:
                found.setdefault(column.name, meaning_of(column))
    return found


def meaning_of(column: LakeColumn) -> str:
    """Return what a column of a raw table means, with its unit."""
    unit = f"[{column.unit}]" if column.unit else ""
    return " ".join(part for part in (column.description or "", unit) if part)

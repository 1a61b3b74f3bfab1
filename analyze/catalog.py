"""The views in reading order: creates them on a connection and reads them as declared rows.

Each view is one select in one file below `views/`. What a column means is said there or in
`rows`, never here. Every error of the engine becomes a ViewError in this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import TypeVar

import duckdb

from analyze.rows import CONTRACTS, ViewRow
from analyze.view_order import VIEWS
from schemas.errors import ViewError

Row = TypeVar("Row", bound=ViewRow)


def create_views(connection: duckdb.DuckDBPyConnection, *, described: bool = True) -> None:
    """Create every view, with its grain and its columns' meaning as comments.

    Args:
        connection: where `results`, `outputs`, `events` and `plans` are.
        described: write the comments, for people who look around; a summary needs none.

    Raises:
        ViewError: one cannot be created; names it and gives the engine's words.
    """
    for view in VIEWS:
        name, sql = name_of(view), sql_of(view)
        with _errors_of(name):
            connection.execute(f"create or replace view {name} as\n{sql}").fetchall()
            if described:
                _describe(connection, name, grain_of(sql))


def _describe(connection: duckdb.DuckDBPyConnection, name: str, grain: str) -> None:
    connection.execute(f"comment on view {name} is {_literal(grain)}").fetchall()
    for column, meaning in _meanings(name).items():
        comment = f"comment on column {name}.{column} is {_literal(meaning)}"
        connection.execute(comment).fetchall()


def name_of(view: str) -> str:
    """Return the name of a view: the last part of its path."""
    return view.rpartition("/")[2]


def sql_of(view: str) -> str:
    """Return the select of a view."""
    return (files("analyze") / "views" / f"{view}.sql").read_text(encoding="utf-8")


def grain_of(sql: str) -> str:
    """Return the first comment line of a view: what one row of it is."""
    return sql.partition("\n")[0].removeprefix("--").strip()


def read_view(connection: duckdb.DuckDBPyConnection, contract: type[Row]) -> list[Row]:
    """Return the rows of a view in the contract's order, which ends in a unique key.

    Raises:
        ViewError: the view failed while it was read.
    """
    columns = list(contract.model_fields)
    with _errors_of(contract.view):
        rows = connection.execute(
            # all three are declared in `rows`; a parameter cannot stand for a name
            f"select {', '.join(columns)} from {contract.view} order by {contract.order}"  # noqa: S608
        ).fetchall()
    return [contract(**dict(zip(columns, row, strict=True))) for row in rows]


def _meanings(name: str) -> dict[str, str]:
    """Return what is declared about the columns of a view, where it has a contract."""
    contract = CONTRACTS.get(name)
    fields = contract.model_fields if contract else {}
    return {column: field.description for column, field in fields.items() if field.description}


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def _errors_of(view: str) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as exc:
        raise ViewError(view, str(exc)) from exc

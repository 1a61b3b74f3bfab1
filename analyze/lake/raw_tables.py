"""The lake's tables on a connection: `raw_results` and so on, over files that are live now.

Needs the engine and lists of names only: neither pyarrow nor the models, whose imports cost more
than most queries do. What a column means begins in the views; here columns that no file has yet are
nulls of the declared type. No database file is made: a connection lives in memory.

What they show beyond their files, such as newest ids and verdicts, is made by `overlay`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import duckdb

from analyze.lake.overlay import (
    BEFORE_IT,
    LATER,
    NAMED_TABLES,
    RAW_TABLES,
    SUPERSEDES,
    TABLE,
    failure_types_sql,
    literal,
    overlaid,
    read_sql,
    thresholds_sql,
)
from schemas.errors import DamagedFile, UnknownVersion, ViewError
from schemas.lake import ALIASES, LAYOUT, LakeColumn, lake_columns, live_files, may_hold
from schemas.run.layout import SCHEMA_VERSION

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
}
"""Of every connection: what is not in the lake plays no part."""


def connect(*, threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """Return an in-memory connection that fetches nothing and reads no variable of Python.

    It draws no bar of progress, which would stand in front of an answer on standard output.

    Args:
        threads: of the engine; by default one a core.
    """
    connection = duckdb.connect(":memory:", config=SETTINGS)
    connection.execute("set parquet_metadata_cache = true").fetchall()
    with contextlib.suppress(duckdb.InvalidInputException):  # in Jupyter, where none can be drawn
        connection.execute("set enable_progress_bar = false").fetchall()
    if threads is not None:
        connection.execute(f"set threads = {threads:d}").fetchall()
    return connection


@contextmanager
def declared(
    connection: duckdb.DuckDBPyConnection, tables: Collection[str] = RAW_TABLES
) -> Iterator[None]:
    """Hold raw tables without rows, in the declared types, where views are created.

    That takes a tenth of the time that it takes over a hundred files, all of which are opened
    whenever a view is bound. After it the tables are gone: `fill` is to follow.
    """
    for table in tables:
        columns = ", ".join(f'"{one.name}" {one.type}' for one in lake_columns()[table])
        with engine_errors(f"raw_{table}"):
            connection.execute(f"drop view if exists raw_{table}").fetchall()
            connection.execute(f"create table raw_{table} ({columns})").fetchall()
    try:
        yield
    finally:
        for table in tables:
            connection.execute(f"drop table raw_{table}").fetchall()


def fill(
    connection: duckdb.DuckDBPyConnection,
    lake: Path,
    tables: Iterable[str] = RAW_TABLES,
    *,
    run_id: str | None = None,
    months: Collection[str] | None = None,
    thresholds: Mapping[str, float] | None = None,
    as_written: bool = False,
    evaluation_profile: str | None = None,
) -> list[Path]:
    """Let raw tables read the files that are live now, and return those files.

    A case that was joined to a newer id is there under that, unless one run alone is read.

    Args:
        connection: where the tables are, or are to be.
        lake: the lake's folder; it need not exist.
        tables: names without `raw_`.
        run_id: only the rows of this run; files and row groups without any are not read.
        months: only the files of these, such as `2026-02`; by default of all.
        thresholds: of the project; by default the packaged ones.
        as_written: each case has the id that its run wrote, whatever was joined since.
        evaluation_profile: whose judges have a say in verdicts; by default those of each run's own.

    Raises:
        UnknownVersion: a newer benchlake wrote one of the files.
        DamagedFile: one of the files is not ours.
        ViewError: one of the files cannot be read.
    """
    listed: list[Path] = []
    may_be_renamed = run_id is None and not as_written and not NAMED_TABLES.isdisjoint(tables)
    is_renamed = may_be_renamed and _read_names(connection, lake, months, listed)
    for table in tables:
        if table == "thresholds":
            _view(connection, table, thresholds_sql(thresholds or {}))
        elif table == "failure_types":
            _view(connection, table, failure_types_sql())
        else:
            source = partial(_source, connection, lake, listed, months=months, run_id=run_id)
            with engine_errors(f"raw_{table}"):
                sql = overlaid(
                    table,
                    source,
                    there=[one for one in LATER if live_files(lake, one, months)],
                    profile=evaluation_profile and literal(evaluation_profile),
                    is_renamed=is_renamed,
                )
            if run_id is not None and table != ALIASES:
                sql = f"select * from ({sql}) where run_id = {literal(run_id)}"  # noqa: S608
            _view(connection, table, sql)
    return listed


def _source(
    connection: duckdb.DuckDBPyConnection,
    lake: Path,
    listed: list[Path],
    table: str,
    *,
    months: Collection[str] | None,
    run_id: str | None,
) -> str:
    """Return the select of a table over its files, which are added to those that were listed."""
    some = None if table == ALIASES else months  # by when they were made, not by run
    files = [
        path
        for path in live_files(lake, table, some)
        if table == ALIASES or run_id is None or may_hold(path, run_id)
    ]
    listed += files
    return _select(connection, table, lake_columns()[table], files)


def _read_names(
    connection: duckdb.DuckDBPyConnection,
    lake: Path,
    months: Collection[str] | None,
    listed: list[Path],
) -> bool:
    """Note which cases have a newer id than their run wrote; return whether any has."""
    aliases = live_files(lake, ALIASES)
    plans = live_files(lake, "plans", months) if aliases else []
    listed += [*aliases, *plans]
    if not plans:
        return False
    with engine_errors(f"raw_{ALIASES}"):
        sources = {
            table: f"({_select(connection, table, lake_columns()[table], files)})"
            for table, files in ((ALIASES, aliases), ("plans", plans))
        }
        names = read_sql("lake/case_names.sql").format(**sources)
        connection.execute(f"create or replace table {TABLE} as\n{names}").fetchall()
        return bool(connection.execute(f"select 1 from {TABLE} limit 1").fetchall())  # noqa: S608


def _select(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    columns: Sequence[LakeColumn],
    files: Sequence[Path],
) -> str:
    """Return the select of a table over its files: declared columns, in the declared order."""
    layouts = layouts_of(connection, files)
    older = {path for path in files if table == "results" and layouts[path] < LAYOUT}
    parts = []
    for group, computed in ((set(files) - older, {}), (older, {SUPERSEDES: BEFORE_IT})):
        if paths := [path for path in files if path in group]:
            names = ", ".join(literal(no_pattern(path)) for path in paths)
            source = f"read_parquet([{names}], hive_partitioning = false, union_by_name = true)"
            parts.append(_columns(connection, source, columns, computed))
    return " union all ".join(parts) or f"select {_nulls(columns)} where false"


def _columns(
    connection: duckdb.DuckDBPyConnection,
    source: str,
    columns: Sequence[LakeColumn],
    computed: Mapping[str, str],
) -> str:
    """Return a select of the declared columns from files; what they lack is null."""
    described = connection.execute(f"describe from {source}").fetchall()
    there = {name: kind for name, kind, *_ in described}
    terms = []
    for column in columns:
        term = computed.get(column.name) or (f'"{column.name}"' if column.name in there else "null")
        if there.get(column.name) != column.type:
            term = f"cast({term} as {column.type})"
        terms.append(f'{term} as "{column.name}"')
    return f"select {', '.join(terms)} from {source}"  # noqa: S608 - names are declared ones


def layouts_of(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> dict[Path, int]:
    """Return the layout of each file.

    Raises:
        UnknownVersion: a newer benchlake wrote one of them.
        DamagedFile: one of them is not ours.
    """
    if not files:
        return {}
    names = ", ".join(literal(no_pattern(path)) for path in files)
    rows = connection.execute(
        "select file_name, decode(key), decode(value) "  # noqa: S608
        f"from parquet_kv_metadata([{names}]) "
        "where key in ('benchlake.schema_version'::blob, 'benchlake.layout'::blob)"
    ).fetchall()
    facts = {(name, key.rpartition(".")[2]): int(value) for name, key, value in rows}
    layouts = {}
    for path in files:
        version = facts.get((str(path), "schema_version"))
        if version is None:
            raise DamagedFile(path, "was not written by benchlake")
        layouts[path] = facts.get((str(path), "layout"), 1)
        for fact, number, known in (
            ("schema_version", version, SCHEMA_VERSION),
            ("layout", layouts[path], LAYOUT),
        ):
            if number > known:
                message = f"{path}: {fact} {number}, this benchlake reads up to {known}"
                raise UnknownVersion(message)
    return layouts


def _nulls(columns: Sequence[LakeColumn]) -> str:
    return ", ".join(f'cast(null as {column.type}) as "{column.name}"' for column in columns)


def _view(connection: duckdb.DuckDBPyConnection, table: str, sql: str) -> None:
    with engine_errors(f"raw_{table}"):
        connection.execute(f"create or replace view raw_{table} as {sql}").fetchall()


def no_pattern(path: Path) -> str:
    """Return a path that the engine takes as it stands: its wildcards match themselves."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in str(path))


@contextmanager
def engine_errors(view: str) -> Iterator[None]:
    """Turn an error of the engine into a ViewError."""
    try:
        yield
    except duckdb.Error as exc:
        raise ViewError(view, str(exc)) from exc

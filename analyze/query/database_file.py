"""A DuckDB file with every view over the lake's files, so that any client can look around."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import duckdb

from analyze.contracts import meaning_of
from analyze.lake.overlay import literal
from analyze.lake.raw_tables import declared, engine_errors, fill
from analyze.lake.repair import retry_while_moving, settle
from analyze.query.catalog import create_views
from analyze.query.dictionary import RAW_GRAINS
from schemas.errors import AnalyzeError, ConfigError, NotOurFile, Problem, display_path
from schemas.io.files import replacing
from schemas.lake import lake_columns, lake_of

MARK = "benchlake: views over the lake of a folder of runs"
"""Comment on the view `about` of a file that we wrote."""

STORAGE: dict[str, str | bool | int | float | list[str]] = {
    "storage_compatibility_version": "v1.0.0"
}
"""Of the file: what the package registry has of DuckDB's command line is older than our engine."""

CARDINALITY = "create macro cardinality(list) as len(list)"
"""The views say `cardinality`, as standard SQL does; engines before 2.0 count only maps so."""


def write_database(
    runs_dir: Path,
    path: Path,
    *,
    force: bool = False,
    repairs: bool = False,
    evaluation_profile: str | None = None,
) -> int:
    """Write a DuckDB file with the raw tables and views, each described; return the files read.

    Args:
        runs_dir: the folder that holds the runs; the file names its files absolutely.
        path: the file; one of ours is replaced.
        force: replace whatever is there.
        repairs: a damaged file of the lake is set aside; by default it is left out.
        evaluation_profile: whose judges have a say in verdicts; by default those of each run's own.

    Raises:
        NotOurFile: something else is there.
        ConfigError: what is there is no file.
        AnalyzeError: the file cannot be written.
        ViewError: the lake cannot be read.
    """
    lake = lake_of(runs_dir.resolve())
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a device or a pipe"
        raise ConfigError(
            [Problem(None, f"{display_path(path)} is there and is {what}; name a file")]
        )
    if path.exists() and not force:
        _refuse_others(path)

    def attempt(temporary: Path, files: list[Path]) -> int:
        temporary.unlink(missing_ok=True)
        with duckdb.connect(temporary, config=STORAGE) as connection:
            connection.execute(CARDINALITY).fetchall()
            with declared(connection):
                create_views(connection)
            files += fill(connection, lake, evaluation_profile=evaluation_profile)
            _describe_raw(connection)
            _sign(connection, lake)
        return len(files)

    try:
        with replacing(path, ".duckdb") as temporary:
            mend = partial(settle, lake, writes=repairs)
            return retry_while_moving(lake, partial(attempt, temporary), mend)
    except (OSError, duckdb.IOException) as exc:
        message = f"{display_path(path)}: cannot be written ({exc})"
        raise AnalyzeError(message) from exc


def _sign(connection: duckdb.DuckDBPyConnection, lake: Path) -> None:
    """Say in the file itself what it is, and of which lake."""
    about = f"create view about as select {literal(MARK)} as what, {literal(lake)} as lake"
    with engine_errors("about"):
        connection.execute(about).fetchall()
        connection.execute(f"comment on view about is {literal(MARK)}").fetchall()


def _describe_raw(connection: duckdb.DuckDBPyConnection) -> None:
    """Write what the raw tables and their columns mean."""
    for table, columns in lake_columns().items():
        grain = literal(RAW_GRAINS[table])
        connection.execute(f"comment on view raw_{table} is {grain}").fetchall()
        for column in columns:
            if meaning := meaning_of(column):
                what = f'raw_{table}."{column.name}"'
                connection.execute(f"comment on column {what} is {literal(meaning)}").fetchall()


def _refuse_others(path: Path) -> None:
    """Refuse to replace what is not a file of ours."""
    try:
        with duckdb.connect(path, read_only=True) as connection:
            rows = connection.execute(
                "select comment from duckdb_views() "
                "where view_name = 'about' and database_name = current_database()"
            ).fetchall()
    except duckdb.Error as exc:
        raise NotOurFile(path, "no database that can be read") from exc
    if rows != [(MARK,)]:
        raise NotOurFile(path, "a database of something else")

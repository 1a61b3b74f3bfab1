"""One run's own folder and the whole lake: reads the config of the one, opens the other.

Knows files and the engine, and nothing about what a column means: that begins in the views.
A database file is never made here; the connection lives in memory and reads sealed Parquet files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from analyze.raw_tables import connect, fill
from schemas.errors import SchemaError

if TYPE_CHECKING:
    from schemas.run.config import RunConfig


def read_config(run_dir: Path) -> RunConfig:
    """Return what a run was asked to do.

    Raises:
        SchemaError: config.json is missing or does not fit its declaration.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - most queries need no config

    from schemas.run.config import load_run_config  # noqa: PLC0415

    path = run_dir / "config.json"
    try:
        return load_run_config(path)
    except OSError as exc:
        message = f"{path}: cannot be read ({exc.strerror})"
        raise SchemaError(message) from exc
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        message = f"{path}: `{where}`: {first['msg']}"
        raise SchemaError(message) from exc


def open_lake(
    lake: Path, run_id: str | None = None, *, threads: int | None = None
) -> duckdb.DuckDBPyConnection:
    """Return an in-memory connection on which the lake's tables are `raw_results` and so on.

    Args:
        lake: the lake's folder; it need not exist.
        run_id: only the rows of this run.
        threads: of the engine; by default one a core.

    Raises:
        UnknownVersion: a newer benchlake wrote one of the files.
        SchemaError: one of the files is not ours.
        ViewError: a file cannot be read.
    """
    connection = connect(threads=threads)
    try:
        fill(connection, lake, run_id=run_id)
    except BaseException:
        connection.close()
        raise
    return connection

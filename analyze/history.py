"""The whole lake on a connection of its own."""

from __future__ import annotations

from pathlib import Path

import duckdb

from analyze.lake.raw_tables import connect, fill


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

"""A lake as it would be in the best case: each table in one file, in the same order of rows."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from schemas.lake import lake_of, live_files
from schemas.lake.rewrite import MAX_GROUP_ROWS
from schemas.lake.rows.tables import TABLES, compression_of, file_facts


def one_file_a_table(runs_dir: Path, target: Path) -> None:
    """Write the lake of a folder of runs again, one file a table.

    Args:
        runs_dir: whose lake is read.
        target: a new folder of runs that has a lake and no runs.
    """
    for table in TABLES:
        files = live_files(lake_of(runs_dir), table)
        if not files:
            continue
        folder = lake_of(target) / table / "month=2025-01"
        folder.mkdir(parents=True)
        schema = TABLES[table].with_metadata(file_facts(()))
        with pq.ParquetWriter(folder / "one.parquet", schema, **compression_of(table)) as writer:
            for batch in (
                duckdb.connect().read_parquet([*map(str, files)]).to_arrow_reader(MAX_GROUP_ROWS)
            ):
                columns = batch.select(TABLES[table].names).cast(TABLES[table])
                writer.write_batch(columns.replace_schema_metadata(schema.metadata))

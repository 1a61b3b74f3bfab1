"""The row of a run in the lake: the one that counts, and a newer one."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.io.arrow import record_of
from schemas.lake.bulk_load import WholeRun
from schemas.lake.layout import month_of
from schemas.lake.rows import run_table
from schemas.lake.tables import RunRow, files_of, reading
from schemas.lake.writer import NO_LOG, LakeWriter


def seal_row(lake: Path, row: RunRow) -> None:
    """Seal a newer row of a run."""
    now_ms = max(time.time_ns() // 1_000_000, row.recorded_at_ms + 1)
    writer = LakeWriter(lake, row.run_id, month_of(row.started_at_ms or 0))
    newer = row.model_copy(update={"recorded_at_ms": now_ms})
    writer.seal_batch({"runs": run_table(newer)}, NO_LOG)


def latest_row(lake: Path, run_id: str) -> RunRow | None:
    """Return the row of a run that counts; None when the lake does not know it."""
    rows: list[RunRow] = []
    for path in files_of(lake, "runs", run_id):
        with reading(path), pq.ParquetFile(path) as file:
            table = file.read()
        mine = table.filter(pc.equal(table["run_id"], run_id))
        rows += [record_of(RunRow, row) for row in mine.to_pylist()]
    return max(rows, key=lambda row: row.recorded_at_ms, default=None)


def keep_labels(lake: Path, whole: WholeRun) -> None:
    """Give a run that is read anew the labels it has; they are nowhere but in the lake."""
    (row,) = whole.tables["runs"].to_pylist()
    new, old = record_of(RunRow, row), latest_row(lake, whole.run_id)
    if old is not None:
        now_ms = max(time.time_ns() // 1_000_000, old.recorded_at_ms + 1)
        newer = new.model_copy(update={"labels": old.labels, "recorded_at_ms": now_ms})
        whole.tables["runs"] = run_table(newer)

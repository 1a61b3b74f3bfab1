"""Made rows as files of a lake, sealed as those of a lake that was pulled."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from schemas.lake import Lake, rows_of_run
from tests.support.made_history import MadeHistory

MONTH = "2025-11"


def seal(lake_folder: Path, history: MadeHistory) -> None:
    """Take every run of a made history into a lake, in files of its own."""
    tables = history.tables()
    run_ids = pc.unique(tables["runs"]["run_id"]).to_pylist()
    with Lake.open(lake_folder) as lake:
        lake.refresh()
        lake.take_in([_run(run_id, tables) for run_id in run_ids], {})
        lake.save()


def _run(run_id: str, tables: dict[str, pa.Table]):
    mine = {name: rows.filter(pc.field("run_id") == run_id) for name, rows in tables.items()}
    stretches = {}
    for name, rows in mine.items():
        n_rows = rows.num_rows
        # a stretch of a log that nobody has: a line and a byte for each row
        place = {"start": 0, "end": n_rows, "lines_before": 0, "lines_after": n_rows, "tail": ""}
        stretches[name] = [{"n_rows": n_rows, **place}] * bool(n_rows)
    return rows_of_run(run_id, MONTH, mine, stretches)

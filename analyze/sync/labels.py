"""Labels of a run: names that people give it, in its config and in the lake."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.errors import ConfigError, Problem, RunNotFound
from schemas.io.arrow import record_of
from schemas.io.files import write_whole
from schemas.lake.bulk_load import WholeRun, is_imported
from schemas.lake.layout import lake_of, month_of
from schemas.lake.rows import run_table
from schemas.lake.tables import RunRow, files_of, reading
from schemas.lake.writer import NO_LOG, LakeWriter


def set_labels(runs_dir: Path, run_id: str, labels: tuple[str, ...]) -> None:
    """Set the labels of a run; see `analyze.sync.label`."""
    wrong = [name for name in labels if not name.strip() or not name.isprintable()]
    if wrong:
        what = "a label has at least one character, and none that a terminal obeys"
        raise ConfigError([Problem(None, what, found=repr(name)) for name in wrong])
    lake = lake_of(runs_dir)
    row = latest_row(lake, run_id)
    path = runs_dir / run_id / "config.json"
    is_ours = path.is_file() and not is_imported(path.parent)
    if row is None and not is_ours:
        raise RunNotFound(run_id, runs_dir, [folder.name for folder in runs_dir.iterdir()])
    if is_ours:
        config = json.loads(path.read_bytes())
        config["labels"] = list(labels)
        write_whole(path, json.dumps(config, indent=2, ensure_ascii=False).encode() + b"\n")
    if row is not None:
        seal_row(lake, row.model_copy(update={"labels": labels}))


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

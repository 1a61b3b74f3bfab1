"""What the lake holds of one run, read back: the lines of its logs, and its own row and labels.

A line is what its record writes today, so it reads back into an equal row, and where the same
benchlake wrote both it is the same bytes. Of a run's own rows the newest counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas.io.arrow import record_of
from schemas.lake.footer import parts_of
from schemas.lake.layout import NO_COVERAGE, month_of
from schemas.lake.log_coverage import (
    EVALUATION_TABLES,
    LOGS,
    RESULT_TABLES,
    LakeLines,
    LakeLog,
    LogTables,
    holds,
)
from schemas.lake.mirror.bulk_load import WholeRun
from schemas.lake.mirror.run_mirror import RunMirror
from schemas.lake.recover import remove_part
from schemas.lake.rewrite import fitted, rows_of_part
from schemas.lake.rows.lines import TABLE_OF_LINE, output_hash, run_table
from schemas.lake.rows.row_store import RowStore
from schemas.lake.rows.tables import RunRow
from schemas.lake.writer import LakeWriter
from schemas.run.config import PlannedTrial, plan_line
from schemas.run.evaluation import EVALUATION_LINES, EvaluationLine
from schemas.run.result import OUTPUT_FIELDS, Event, Result

TextOf = Callable[[str | None], str | None]
"""Takes the `artifact_path` of a text that the lake has lost; returns what its trace has instead,
None when it is gone there as well."""


def read_lake_log(lake: Path, run_id: str, text_of: TextOf) -> LakeLog:
    """Return every row of a run as the line it was made of; see `schemas.lake.Lake.read_log`."""
    found = LakeLog()
    texts = {
        row["record_no"]: {name: row[name] for name in OUTPUT_FIELDS}
        for row in _rows(lake, "outputs", run_id)
    }
    for row in _rows(lake, "results", run_id):
        number = row["record_no"]
        text = texts.get(number) or _text(row, text_of, found)
        found.lines[number] = _line(record_of(Result, row | text))
    for row in _rows(lake, "events", run_id):
        found.lines[row["record_no"]] = _line(record_of(Event, row))
    looks = {
        row["record_no"]: _line(record_of(model, row))
        for kind, model in EVALUATION_LINES.items()
        for row in _rows(lake, TABLE_OF_LINE[kind], run_id)
    }
    found.n_lines = _n_lines(lake, run_id, RESULT_TABLES, found.lines)
    n_looks = _n_lines(lake, run_id, EVALUATION_TABLES, looks)
    found.evaluations = LakeLines(looks, n_looks)
    found.plan = [plan_line(record_of(PlannedTrial, row)) for row in _rows(lake, "plans", run_id)]
    return found


def _n_lines(lake: Path, run_id: str, log: LogTables, numbers: Iterable[int]) -> int:
    """Return how long a log was, from the lines that have rows and the stretches of it."""
    ends = [
        part.coverage.lines_after
        for table in log.tables
        for _, part in parts_of(lake, table, run_id)
    ]
    return max([*numbers, *ends], default=0)


def _rows(lake: Path, table: str, run_id: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a run in a table, each stretch of its log once."""
    held = {part.coverage: (file, part) for file, part in reversed(parts_of(lake, table, run_id))}
    for file, part in reversed(held.values()):
        for rows in rows_of_part(file, part):
            yield from fitted(rows, table, file.path).to_pylist()


def _text(row: dict[str, Any], text_of: TextOf, found: LakeLog) -> dict[str, Any]:
    fields: dict[str, Any] = dict.fromkeys(OUTPUT_FIELDS)
    if row["output_hash"] == output_hash(""):
        return fields | {"raw_output": ""}
    text = text_of(row["artifact_path"])
    if text is None or output_hash(text) != row["output_hash"]:
        found.without_text.append((row["model_id"], row["case_id"], row["repetition"]))
        return fields | {"raw_output": "", "raw_output_truncated": True}
    found.from_traces.append(row["record_no"])
    return fields | {"raw_output": text}


def _line(record: Result | Event | EvaluationLine) -> bytes:
    return record.model_dump_json().encode() + b"\n"


def fit_lake(run_dir: Path, lake: Path, lock: int) -> None:
    """Make the lake fit logs that were written again, whose rows are those of the lake and more.

    Stretches that end at other bytes than before are read again. The handle, which holds the run's
    lock in the lake, is closed.
    """
    for log in LOGS:
        for table in reversed(log.tables):
            for file, part in parts_of(lake, table, run_dir.name):
                if not holds(run_dir / log.name, part.coverage):
                    remove_part(lake, table, file, part)
    with closing(RunMirror(run_dir, lake, lock=lock, is_growing=True)) as mirror:
        mirror.step()
        mirror.seal()


def set_labels(lake: Path, run_id: str, labels: tuple[str, ...]) -> bool:
    """Seal a newer row of a run; see `schemas.lake.Lake.label`."""
    row = _latest_row(lake, run_id)
    if row is not None:
        writer = LakeWriter(lake, run_id, month_of(row.started_at_ms or 0))
        writer.seal_batch({"runs": _newer(row, row, labels)}, NO_COVERAGE)
    return row is not None


def keep_labels(lake: Path, whole: WholeRun) -> None:
    """Give a run that is read anew the labels it has; they are nowhere but in the lake."""
    (row,) = whole.tables["runs"].whole().to_pylist()
    if (old := _latest_row(lake, whole.run_id)) is not None:
        whole.tables["runs"] = RowStore(_newer(record_of(RunRow, row), old, old.labels))


def _latest_row(lake: Path, run_id: str) -> RunRow | None:
    """Return the row of a run that counts; None when the lake does not know it."""
    rows = (
        record_of(RunRow, row)
        for file, part in parts_of(lake, "runs", run_id)
        for table in rows_of_part(file, part)
        for row in table.to_pylist()
    )
    return max(rows, key=lambda row: row.recorded_at_ms, default=None)


def _newer(row: RunRow, old: RunRow, labels: tuple[str, ...]) -> pa.Table:
    """Return a row that counts from now on instead of an older one."""
    now_ms = max(time.time_ns() // 1_000_000, old.recorded_at_ms + 1)
    return run_table(row.model_copy(update={"labels": labels, "recorded_at_ms": now_ms}))

"""Rows of the lake back to the lines of a log they were made of; loads pyarrow.

A line is what its record writes today, so it reads back into an equal row, and where the same
benchlake wrote both it is the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from schemas.io.arrow import record_of
from schemas.lake.footer import parts_of
from schemas.lake.layout import BATCH_TABLES
from schemas.lake.log_coverage import LakeLog, holds
from schemas.lake.recover import remove_part
from schemas.lake.rewrite import fitted, rows_of_part
from schemas.lake.rows import output_hash
from schemas.lake.writer import RunMirror
from schemas.run.config import PlannedTrial, plan_line
from schemas.run.result import OUTPUT_FIELDS, Event, Result

TextOf = Callable[[str | None], str | None]
"""Takes the `artifact_path` of a text that the lake has lost; returns what its trace has instead,
None when it is gone there as well."""


def read_lake_log(lake: Path, run_id: str, text_of: TextOf) -> LakeLog:
    """Return every row of a run as the line it was made of.

    Raises:
        SchemaError: a file of the lake that bears the run's name cannot be read.
    """
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
    ends = [
        part.coverage.lines_after
        for table in BATCH_TABLES
        for _, part in parts_of(lake, table, run_id)
    ]
    found.n_lines = max([*found.lines, *ends], default=0)
    found.plan = [plan_line(record_of(PlannedTrial, row)) for row in _rows(lake, "plans", run_id)]
    return found


def _rows(lake: Path, table: str, run_id: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a run in a table, each stretch of its log once."""
    done = set()
    for file, part in parts_of(lake, table, run_id):
        if part.coverage in done:
            continue
        done.add(part.coverage)
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


def _line(record: Result | Event) -> bytes:
    return record.model_dump_json().encode() + b"\n"


def fit_lake(run_dir: Path, lake: Path, lock: int) -> None:
    """Make the lake fit a log that was written again, whose rows are those of the lake and more.

    Stretches that end at other bytes than before are read again. The handle, which holds the run's
    lock in the lake, is closed.
    """
    run_id, log = run_dir.name, run_dir / "results.jsonl"
    for table in reversed(BATCH_TABLES):
        for file, part in parts_of(lake, table, run_id):
            if not holds(log, part.coverage):
                remove_part(lake, table, file, part)
    with closing(RunMirror(run_dir, lake, lock=lock, is_growing=True)) as mirror:
        mirror.step()
        mirror.seal()

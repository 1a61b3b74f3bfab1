"""Rows of a folder with import.json: lines of ours, and a plan that follows from them.

Nobody planned such a run here, so a trial is planned once a line has its result, or the record says
that the source knows of it. Such a log is always read whole; the folder is never written again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas.columns import Columns
from schemas.errors import SchemaError
from schemas.lake.rows import RunRows, plan_table, run_table
from schemas.run.import_record import ImportRecord, load_import_record
from schemas.run.layout import IMPORT_FILE
from schemas.run.plan import PlannedTrial
from schemas.run.result import Result
from schemas.run_row import RunRow

PLAN_DEFAULTS: dict[str, Any] = {
    "record_type": "trial",
    "runner_type": "llm_probe",
    "fingerprint_version": 1,
    "expected_tools": (),
    "tags": (),
}
"""Of a planned trial, what stands for nothing known; null in all other columns."""

NOTED = (
    *(name for name in PlannedTrial.model_fields if name in Result.model_fields),
    "passed",
    "success",
    "started_at_ms",
)
"""Columns of a result from which its planned trial, or what else is known of its case, follows."""


def import_record_of(run_dir: Path) -> ImportRecord:
    """Return the record of the run that a folder is named for.

    Raises:
        SchemaError: it is that of another run: this is a copy of its folder.
        UnknownVersion: a newer benchlake wrote it.
        ValidationError: it does not fit its declaration.
        OSError: it cannot be read.
    """
    record = load_import_record(run_dir)
    if record.run_id != run_dir.name:
        path = run_dir / IMPORT_FILE
        message = f"{path}: is the record of another run, `{record.run_id}`"
        raise SchemaError(message)
    return record


class ImportRows(RunRows):
    """Makes rows of an imported run's lines, in the order of the log, and its plan.

    Args:
        record: of the run; results of another run are refused.
    """

    def __init__(self, record: ImportRecord) -> None:
        super().__init__(record.run_id, ())
        self._record = record
        self._plan: list[dict[str, Any]] = []
        self._judged: set[str] = set()
        self._answered: set[str] = set()
        self._started_at_ms = record.started_at_ms
        self._has_start = record.started_at_ms is not None

    @property
    def started_at_ms(self) -> int | None:
        """Return when the run began: by its record, else by the results that were read."""
        return self._started_at_ms

    def _placed(self, results: Columns) -> tuple[Columns, list[tuple[int, str]]]:
        """Plan every trial that has a result, then go on as with a plan that was there."""
        for place, run_id in enumerate(results["run_id"]):
            if run_id == self._record.run_id:
                self._take_note({name: results[name][place] for name in NOTED})
        return super()._placed(results)

    def _take_note(self, result: dict[str, Any]) -> None:
        key = result["model_id"], result["case_id"], result["repetition"]
        if key not in self._last:
            self._last[key] = 0
            self._plan.append(result)
        if result["passed"] is not None:
            self._judged.add(result["case_id"])
        if result["success"]:
            self._answered.add(result["case_id"])
        if not self._has_start:
            known, begin = self._started_at_ms, result["started_at_ms"]
            self._started_at_ms = begin if known is None else min(known, begin)

    def head(self) -> dict[str, pa.Table]:
        """Return the rows of the plan and of the run, once all lines were read."""
        record = self._record
        unfinished = [
            PLAN_DEFAULTS | one.model_dump()
            for one in record.unfinished
            if (one.model_id, one.case_id, one.repetition) not in self._last
        ]
        plan = [*self._plan, *unfinished]
        columns = {
            name: [trial.get(name, PLAN_DEFAULTS.get(name)) for trial in plan]
            for name in PlannedTrial.model_fields
        }
        columns |= {
            "record_type": ["trial"] * len(plan),
            "run_id": [record.run_id] * len(plan),
            "suite_id": [record.suite_id] * len(plan),
            "trial_no": list(range(len(plan))),
            "fingerprint_version": [trial.get("fingerprint_version") or 1 for trial in plan],
            "is_scorable": [self._is_scorable(trial["case_id"]) for trial in plan],
        }
        run = RunRow(
            run_id=record.run_id,
            suite_id=record.suite_id,
            suite_title=record.suite_title,
            started_at_ms=self._started_at_ms,
            run_profile_id=None,
            benchlake_version=None,
            n_planned=len(plan),
            run_group=None,
            labels=(),
            is_imported=True,
            is_narrowed=False,
            max_cost_usd=None,
            recorded_at_ms=self._started_at_ms or 0,
        )
        return {"plans": plan_table(columns), "runs": run_table(run)}

    def _is_scorable(self, case_id: str) -> bool:
        """Return whether a case can get a verdict; one that never had an answer may still."""
        if case_id in self._judged:
            return True
        return self._record.scorable and case_id not in self._answered

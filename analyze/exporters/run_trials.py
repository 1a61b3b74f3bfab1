"""Trials of one run for those who fold them: planned beside what came of it, counted by case.

Joining and counting are SQL; the text of answers lies apart and is read for few of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import JsonValue, ValidationError

from analyze.query.run_ref import run_folder
from analyze.show.trace_file import read_trace
from schemas.errors import SchemaError
from schemas.run.import_record import ImportRecord, load_import_record
from schemas.run.trace import Artifact, FinalOutputEvent

if TYPE_CHECKING:
    from pathlib import Path

    from analyze.query.session import Session

SCORED_BY = "sf-bench"
"""Provider of trials that were imported from reports with scored components."""

SKIPPED = "skipped"
"""Key of what an imported report leaves over: of instances that were skipped, by their id."""


@dataclass(frozen=True)
class RunTrial:
    """One planned trial of a run; all from `record_no` on is None while it has no result."""

    model_id: str
    case_id: str
    repetition: int
    suite_id: str
    provider: str
    model: str
    thinking_level: str | None
    prompt_id: str
    prompt_name: str | None
    is_scorable: bool

    record_no: int | None
    status: str | None
    passed: bool | None
    failure_type: str | None
    error_code: str | None
    violation: str | None
    checks: Sequence[dict[str, Any]] | None
    raw_output_truncated: bool | None
    started_at_ms: int | None
    ended_at_ms: int | None
    artifact_path: str | None
    duration_seconds: float | None
    """Null where it took no time at all, which is another tool's word for unknown, or decades."""

    n_verdicts: int
    """Of the case with this model, as all that follows."""
    n_passed: int
    mean_seconds: float | None
    first_started_at_ms: int | None
    last_ended_at_ms: int | None


PLANNED = (
    "model_id", "case_id", "repetition", "suite_id", "provider", "model", "thinking_level",
    "prompt_id", "prompt_name", "is_scorable",
)  # fmt: skip

OF_CASE = "partition by plans.model_id, plans.case_id"
TOOK = (
    "case when trials.ended_at_ms - trials.started_at_ms between 1 and 1000000000000 "
    "then trials.ended_at_ms - trials.started_at_ms end"
)

COMPUTED = {
    "duration_seconds": f"({TOOK}) / 1000e0",
    "n_verdicts": f"count(trials.passed) over ({OF_CASE})",
    "n_passed": f"cast(sum(case when trials.passed then 1 else 0 end) over ({OF_CASE}) as bigint)",
    "mean_seconds": f"avg({TOOK}) over ({OF_CASE}) / 1000e0",
    "first_started_at_ms": f"min(trials.started_at_ms) over ({OF_CASE})",
    "last_ended_at_ms": f"max(trials.ended_at_ms) over ({OF_CASE})",
}


def read_run_trials(session: Session, run_id: str) -> list[RunTrial]:
    """Return every planned trial of a run, ordered by model_id, case_id and repetition.

    Raises:
        ViewError: the lake cannot be read.
    """
    names = [field.name for field in fields(RunTrial)]
    terms = [
        COMPUTED.get(name) or f"{'plans' if name in PLANNED else 'trials'}.{name}" for name in names
    ]
    rows = session.rows(
        f"select {', '.join(terms)} "  # noqa: S608 - names are our own
        "from (select * from stg_plans where run_id = ?) as plans "
        "left join (select * from trials where run_id = ?) as trials "
        "on plans.model_id = trials.model_id and plans.case_id = trials.case_id "
        "and plans.repetition = trials.repetition "
        "order by plans.model_id, plans.case_id, plans.repetition",
        [run_id, run_id],
    )
    return [RunTrial(*row) for row in rows]


def import_record(folder: Path | None) -> ImportRecord | None:
    """Return what an import says of its source; None of any other run, and where it is no more."""
    try:
        return None if folder is None else load_import_record(folder)
    except (OSError, ValidationError, SchemaError):
        return None


def imported_extras(folder: Path | None) -> dict[str, JsonValue]:
    """Return what an import kept for writing it back; nothing of any other run."""
    record = import_record(folder)
    return {} if record is None else record.leftover


class Text(NamedTuple):
    """What was said in a trial, as the lake has it."""

    raw_output: str
    parsed_output: str | None
    error_message: str | None


NO_TEXT = Text("", None, None)


class Texts:
    """What was said in some trials of a run, whole where the run's folder is here."""

    def __init__(self, session: Session, run_id: str, trials: Sequence[RunTrial]) -> None:
        """Read the text of these trials.

        Raises:
            ViewError: the lake cannot be read.
        """
        rows = session.rows(
            "select record_no, coalesce(raw_output, ''), parsed_output, error_message "
            "from stg_outputs "
            "where run_id = ? and record_no in (select unnest(cast(? as bigint[])))",
            [run_id, [trial.record_no for trial in trials]],
        )
        imported = session.rows("select is_imported from stg_runs where run_id = ?", [run_id])
        self._texts = {record_no: Text(*rest) for record_no, *rest in rows}
        self._folder: Path | None = run_folder(session, run_id)
        self._is_imported = imported == [(True,)]
        self._left = imported_extras(self._folder) if self._is_imported else {}

    def error_message(self, trial: RunTrial) -> str | None:
        """Return what was said about the failure."""
        return self._of(trial).error_message

    def answer(self, trial: RunTrial) -> tuple[str, bool]:
        """Return the answer, and whether it is only its beginning, for want of the trace."""
        text = self._of(trial).raw_output
        if not trial.raw_output_truncated:
            return text, False
        trace = read_trace(self._folder, trial.artifact_path)
        if isinstance(trace, Artifact):
            for event in reversed(trace.trace):
                if isinstance(event, FinalOutputEvent):
                    return event.content, False
        return text, True

    def validation(self, trial: RunTrial) -> dict[str, Any] | None:
        """Return the scored components of an imported report; a model's own answer never is one."""
        parsed = self._of(trial).parsed_output
        if not self._is_imported or trial.provider != SCORED_BY or parsed is None:
            return None
        value = json.loads(parsed)
        found = value.get("validation") if isinstance(value, dict) else None
        return found if isinstance(found, dict) else None

    def skipped(self, trial: RunTrial) -> dict[str, Any]:
        """Return what an imported report says of an instance that it skipped; else nothing."""
        of_report = self._left.get(SKIPPED) if trial.provider == SCORED_BY else None
        found = of_report.get(trial.prompt_id) if isinstance(of_report, dict) else None
        entry = found if isinstance(found, dict) else {}
        return {name: value for name, value in entry.items() if isinstance(value, (str, dict))}

    def _of(self, trial: RunTrial) -> Text:
        return self._texts.get(trial.record_no or 0, NO_TEXT)

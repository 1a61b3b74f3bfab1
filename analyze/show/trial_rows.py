"""Trials of one run as rows: each planned trial with its result, missing ones included.

The text of answers is read for single trials only; it lies apart in the lake for that reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyze.query.session import Session


@dataclass(frozen=True)
class ShownTrial:
    """One planned trial and its result; all of the second part is None while it is missing."""

    run_id: str
    suite_id: str
    provider: str
    model: str
    thinking_level: str | None
    model_id: str
    case_id: str
    repetition: int
    prompt_id: str
    prompt_name: str | None
    case_hash: str | None
    validator_type: str | None
    is_scorable: bool
    expected_tools: Sequence[str]
    tags: Sequence[str]

    record_no: int | None
    availability_status: str | None
    status: str | None
    failure_type: str | None
    cause: str | None
    error_code: str | None
    http_status: int | None
    attempt_count: int | None
    finish_reason: str | None
    is_success: bool | None
    passed: bool | None
    objective_pass: bool | None
    violation: str | None
    checks: Sequence[dict[str, Any]] | None
    tool_calls: Sequence[str] | None
    tool_call_source: str | None
    tool_use_success: bool | None
    served_model: str | None
    served_provider: str | None
    started_at_ms: int | None
    ended_at_ms: int | None
    e2e_ms: int | None
    ttft_ms: int | None
    tool_ms: int | None
    clock_late_ms: int | None
    input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cached_input_tokens: int | None
    cost_usd: float | None
    cost_source: str | None
    raw_output_truncated: bool | None
    artifact_path: str | None
    reused_from_run_id: str | None

    @property
    def cell(self) -> tuple[str, str]:
        """Its case and its model."""
        return self.case_id, self.model_id

    @property
    def is_missing(self) -> bool:
        """Whether there is no result."""
        return self.record_no is None

    @property
    def is_well(self) -> bool:
        """Whether it has a result, and neither failed nor did not pass."""
        return bool(self.is_success) and self.passed is not False

    @property
    def why(self) -> str:
        """Why it did not pass, as short as it was said: the failure, the violation, the checks."""
        if self.failure_type is not None:
            return self.failure_type
        failed = [check for check in self.checks or () if check["outcome"] != "passed"]
        checks = (
            f"{check['check_id']}: {check['message'] or check['reason'] or check['outcome']}"
            for check in failed
        )
        return "; ".join(filter(None, (self.violation, *checks)))


def passed_of(trials: Sequence[ShownTrial]) -> str:
    """Return how many repetitions of those planned passed; empty where none can get a verdict."""
    n_passed = sum(trial.passed is True for trial in trials)
    can_pass = any(trial.is_scorable or trial.passed is not None for trial in trials)
    return f"{n_passed}/{len(trials)}" if can_pass else ""


@dataclass(frozen=True)
class TrialText:
    """What was said in a trial, as far as the lake has it."""

    raw_output: str
    parsed_output: str | None
    error_message: str | None
    n_records: int
    """Of the trial in its run; the last one counts."""


SPECIAL = {"cost_usd": "cast(trials.cost_nano_usd as double) / 1e9", "cause": "causes.cause"}


def read_trials(
    session: Session,
    run_id: str,
    *,
    case_id: str | None = None,
    where: str = "true",
    cells: Sequence[tuple[str, str]] | None = None,
) -> list[ShownTrial]:
    """Return trials of a run in the order of cases, models and repetitions.

    Args:
        session: the open lake.
        run_id: the run.
        case_id: of one case only.
        where: a further condition in SQL on `plans` and `trials`; ours, never a user's.
        cells: of these (case_id, model_id) only.
    """
    names = [field.name for field in fields(ShownTrial)]
    n_planned = names.index("record_no")
    terms = [f"plans.{name}" for name in names[:n_planned]]
    terms += [SPECIAL.get(name) or f"trials.{name}" for name in names[n_planned:]]
    chosen = "plans.run_id = ?"
    parameters: list[object] = [run_id]
    if case_id is not None:
        chosen += " and plans.case_id = ?"
        parameters.append(case_id)
    if cells is not None:
        chosen += " and (plans.case_id, plans.model_id) in (select unnest(?), unnest(?))"
        parameters += [[case for case, _ in cells], [model for _, model in cells]]
    rows = session.rows(
        f"select {', '.join(terms)} from stg_plans as plans "  # noqa: S608 - names are our own
        "left join trials on trials.run_id = plans.run_id and trials.model_id = plans.model_id "
        "and trials.case_id = plans.case_id and trials.repetition = plans.repetition "
        "left join int_failures as causes "
        "on trials.run_id = causes.run_id and trials.record_no = causes.record_no "
        f"where {chosen} and ({where}) order by plans.case_id, plans.model_id, plans.repetition",
        parameters,
    )
    return [ShownTrial(**dict(zip(names, row, strict=True))) for row in rows]


def read_answers(session: Session, run_id: str, case_id: str, longest: int) -> dict[int, str]:
    """Return the beginning of every answer to a case, by record_no."""
    return dict(
        session.rows(
            "select record_no, left(raw_output, ?) from stg_outputs "
            "where run_id = ? and case_id = ?",
            [longest, run_id, case_id],
        )
    )


def read_text(session: Session, trial: ShownTrial) -> TrialText:
    """Return the text of the record that counts; empty for a missing trial."""
    found = session.rows(
        "select raw_output, parsed_output, error_message, "
        "count(*) over () as n_records, record_no from stg_outputs "
        "where run_id = ? and model_id = ? and case_id = ? and repetition = ? "
        "order by record_no",
        [trial.run_id, trial.model_id, trial.case_id, trial.repetition],
    )
    for raw_output, parsed_output, error_message, n_records, record_no in found:
        if record_no == trial.record_no:
            return TrialText(raw_output or "", parsed_output, error_message, n_records)
    return TrialText("", None, None, 0)


@dataclass(frozen=True)
class CutText:
    """The text of a trial of which a long answer is there in part."""

    text: TrialText
    """Where characters are left out, `raw_output` is its beginning and its end without a gap."""
    n_left_out: int
    """Characters in the middle of the answer."""


def read_texts(session: Session, trials: Sequence[ShownTrial], most: int) -> dict[int, CutText]:
    """Return the text of several trials of one run, by the record_no that counts.

    Args:
        session: the open lake.
        trials: of one run; missing ones have no text.
        most: characters that are read of the beginning and of the end of an answer.
    """
    there = [trial for trial in trials if trial.record_no is not None]
    if not there:
        return {}
    found = session.rows(
        """
        with wanted as (
            select unnest(?) as model_id, unnest(?) as case_id, unnest(?) as repetition
        )
        select
            record_no,
            case
                when length(raw_output) <= 2 * ? then raw_output
                else left(raw_output, ?) || right(raw_output, ?)
            end as raw_output,
            parsed_output, error_message,
            count(*) over (partition by model_id, case_id, repetition) as n_records,
            greatest(length(raw_output) - 2 * ?, 0) as n_left_out
        from stg_outputs
        semi join wanted using (model_id, case_id, repetition)
        where run_id = ?
        """,
        [
            [trial.model_id for trial in there],
            [trial.case_id for trial in there],
            [trial.repetition for trial in there],
            *(most,) * 4,
            there[0].run_id,
        ],
    )
    return {
        record_no: CutText(TrialText(raw_output or "", *rest), n_left_out or 0)
        for record_no, raw_output, *rest, n_left_out in found
    }

"""A run as reports of other tools see it: one result a case, whatever its number of repetitions.

The majority of the repetitions that have a verdict decides, and each of them is kept beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from analyze.exporters.run_trials import SCORED_BY, RunTrial, Texts, read_run_trials

if TYPE_CHECKING:
    from analyze.query.session import Session
    from schemas.formats.report_v2_instance import InstanceStatus

MISSING = "missing"
"""Status of a repetition that was planned and has no result."""

NO_VERDICT = "no_verdict"
"""`error_type` of a case that was answered, and of which what decides could not look."""

NOT_JUDGED = "not judged: the case has no check"
"""What is said of a case that was answered, and in which nothing decides what is right."""


class FoldedRepetition(NamedTuple):
    """What became of one repetition of a case."""

    repetition: int
    passed: bool | None
    status: str
    """As in results.jsonl, or `missing`."""
    failure_type: str | None
    duration_seconds: float | None
    log_path: str | None
    """Of its trace, below the run's folder."""


@dataclass(frozen=True)
class FoldedCase:
    """One case with one model.

    The deciding trial is the first one with the majority's verdict; without any verdict it is the
    last one that has a result.
    """

    instance_id: str
    """What the case is called outside: its prompt_id, or case_id where two cases share that."""
    case_id: str
    title: str | None
    status: InstanceStatus
    """A tie and a minority of passes are `fail`, no verdict is `error`. What is `skipped` has no
    result, or an answer and nothing to judge it by."""
    error_type: str | None
    """The deciding trial's failure, or `no_verdict`; an imported report keeps its own."""
    error_message: str | None
    """What was said about the failure, else what validator and checks found; of imported reports
    only what they said."""
    error_code: str | None
    violation: str | None
    """Of the deciding trial's validator; in imported runs the harness' own reason."""
    answer: str | None
    """Whole answer of the deciding trial; None where there is no trial."""
    answer_is_cut: bool
    """Only its beginning is known, since the trace is not here."""
    validation: dict[str, Any] | None
    """Scored components, in runs that were imported from reports that have them."""
    duration_seconds: float | None
    """Mean over the repetitions that took any time."""
    started_at_ms: int | None
    ended_at_ms: int | None
    log_path: str | None
    repetitions: tuple[FoldedRepetition, ...]

    @property
    def resolved(self) -> bool:
        """More than half of the verdicts are passes."""
        return self.status == "resolved"


@dataclass(frozen=True)
class FoldedModel:
    """All cases that a run asked one model, ordered by case_id."""

    run_id: str
    suite_id: str
    model_id: str
    provider: str
    model: str
    thinking_level: str | None
    ended_at_ms: int | None
    """Of its last trial."""
    cases: tuple[FoldedCase, ...]


def fold(session: Session, run_id: str) -> list[FoldedModel]:
    """Return every model of a run with its cases, ordered by model_id and case_id.

    Args:
        session: the open lake.
        run_id: the run; one that the lake does not know has no models.

    Raises:
        ViewError: the lake cannot be read.
    """
    trials = read_run_trials(session, run_id)
    deciding = [one for case in _cases(trials) if (one := _deciding(case)) is not None]
    texts = Texts(session, run_id, deciding)
    return [
        _model(run_id, list(of_model), texts)
        for _, of_model in groupby(trials, key=lambda trial: trial.model_id)
    ]


def _cases(trials: Sequence[RunTrial]) -> list[list[RunTrial]]:
    """Return the repetitions of each case, in order."""
    keyed = groupby(trials, key=lambda trial: (trial.model_id, trial.case_id))
    return [list(repetitions) for _, repetitions in keyed]


def _deciding(repetitions: Sequence[RunTrial]) -> RunTrial | None:
    """Return the trial that stands for its case; None where no repetition has a result."""
    first = repetitions[0]
    if not first.n_verdicts:
        results = [one for one in repetitions[::-1] if one.record_no is not None]
        answered = [] if first.is_scorable else [one for one in results if not one.failure_type]
        return next(iter((*answered, *results)), None)
    return next(one for one in repetitions if one.passed is _is_resolved(first))


def _is_resolved(trial: RunTrial) -> bool:
    return 2 * trial.n_passed > trial.n_verdicts


def _model(run_id: str, trials: Sequence[RunTrial], texts: Texts) -> FoldedModel:
    first, cases = trials[0], _cases(trials)
    has_clash = len({case[0].prompt_id for case in cases}) < len(cases)
    ends = [trial.ended_at_ms for trial in trials if trial.ended_at_ms is not None]
    return FoldedModel(
        run_id=run_id,
        suite_id=first.suite_id,
        model_id=first.model_id,
        provider=first.provider,
        model=first.model,
        thinking_level=first.thinking_level,
        ended_at_ms=max(ends, default=None),
        cases=tuple(
            _case(case[0].case_id if has_clash else case[0].prompt_id, case, texts)
            for case in cases
        ),
    )


def _case(instance_id: str, repetitions: Sequence[RunTrial], texts: Texts) -> FoldedCase:
    first, decides = repetitions[0], _deciding(repetitions)
    status = _status(first, decides)
    answer, is_cut = (None, False) if decides is None else texts.answer(decides)
    skip_entry = texts.skipped(first) if decides is None else {}
    return FoldedCase(
        instance_id=instance_id,
        case_id=first.case_id,
        title=first.prompt_name,
        status=status,
        error_type=skip_entry.get("error_type")
        if decides is None
        else _error_type(decides, status),
        error_message=(
            skip_entry.get("error_message")
            if decides is None
            else _error_message(decides, status, texts)
        ),
        error_code=None if decides is None else decides.error_code,
        violation=None if decides is None else decides.violation,
        answer=answer,
        answer_is_cut=is_cut,
        validation=skip_entry.get("validation") if decides is None else texts.validation(decides),
        duration_seconds=first.mean_seconds,
        started_at_ms=first.first_started_at_ms,
        ended_at_ms=first.last_ended_at_ms,
        log_path=None if decides is None else decides.artifact_path,
        repetitions=tuple(map(_repetition, repetitions)),
    )


def _status(first: RunTrial, decides: RunTrial | None) -> InstanceStatus:
    if decides is None:
        return "skipped"
    is_their_error = decides.provider == SCORED_BY and decides.failure_type is not None
    is_answered = decides.failure_type is None
    if not first.n_verdicts and not first.is_scorable and is_answered:
        return "skipped"
    if not first.n_verdicts or is_their_error:  # a time-out has a verdict here, and none there
        return "error"
    return "resolved" if _is_resolved(first) else "fail"


def _error_type(decides: RunTrial, status: InstanceStatus) -> str | None:
    if decides.provider == SCORED_BY:
        return decides.error_code
    return decides.failure_type or (NO_VERDICT if status == "error" else None)


def _error_message(decides: RunTrial, status: InstanceStatus, texts: Texts) -> str | None:
    if status == "skipped":
        return NOT_JUDGED
    said = texts.error_message(decides)
    if said or status == "resolved" or decides.provider == SCORED_BY:
        return said
    failed = [check for check in decides.checks or () if check["outcome"] != "passed"]
    checks = (f"{check['check_id']}: {check['message'] or check['outcome']}" for check in failed)
    return "; ".join(filter(None, (decides.violation, *checks))) or None


def _repetition(trial: RunTrial) -> FoldedRepetition:
    return FoldedRepetition(
        repetition=trial.repetition,
        passed=trial.passed,
        status=trial.status or MISSING,
        failure_type=trial.failure_type,
        duration_seconds=trial.duration_seconds,
        log_path=trial.artifact_path,
    )

"""From what a user asked of a gate to its answer: both sides, the comparison, the rules.

While a drop is neither mended nor acknowledged the gate fails, whatever the comparison says. For
reports that list them all, every case of the candidate with what became of its trials.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from analyze.aliases import read_ids
from analyze.comparison.compare import compare
from analyze.comparison.evidence.outcomes import CaseOutcome, read_causes, read_outcomes
from analyze.comparison.evidence.plans import is_called
from analyze.comparison.evidence.read import read_evidence
from analyze.comparison.evidence.run_sets import (
    ChosenSide,
    NoEarlierRun,
    Texts,
    asks_levels,
    runs_of,
)
from analyze.gate.baseline import resolve_baseline
from analyze.gate.calibrated import judge_calibrations, with_calibrations
from analyze.gate.confirm import check_confirming
from analyze.gate.known_issues import Quarantine, quarantine_on, with_quarantine
from analyze.gate.rules import EXIT_CODES, judge, worst_of
from analyze.query.session import Session
from analyze.regressions.detect import METRICS
from analyze.regressions.document import open_size
from analyze.regressions.open_shifts import find_open_shifts
from analyze.regressions.series import Histories
from schemas.config.known_issues import Acknowledged, KnownFile
from schemas.output.comparison import Axis, Comparison, ThresholdsUsed
from schemas.output.regressions import (
    BaselineComparison,
    GateLine,
    GateResult,
    GateRules,
    OpenShift,
)


def with_open_shifts(
    result: GateResult, opened: Sequence[OpenShift], unused: Sequence[Acknowledged] = ()
) -> GateResult:
    """Return a result that names the shifts which stand, and fails by those of the passed rate.

    A shift that is tolerated is named, and so is one of a time or a cost, or of a model that the
    candidate did not ask: none of them fails anything. Both are of what was asked, the oldest shift
    first.
    """
    by_model: defaultdict[str, list[OpenShift]] = defaultdict(list)
    for one in opened:
        if one.is_tolerated is False:
            by_model[one.series.model_id].append(one)
    lines = [
        _failed(line, by_model[line.model_id])
        if line.metric == "passed_rate" and line.model_id in by_model
        else line
        for line in result.lines
    ]
    judged = {line.model_id for line in result.lines if line.metric == "passed_rate"}
    lines += [
        _failed(None, found) for model_id, found in by_model.items() if model_id not in judged
    ]
    outcome = worst_of([line.outcome for line in lines])
    return result.model_copy(
        update={
            "lines": tuple(lines),
            "outcome": outcome,
            "exit_code": EXIT_CODES[outcome],
            "open_shifts": tuple(opened),
            "unused_shifts": tuple(unused),
        }
    )


def _failed(line: GateLine | None, opened: Sequence[OpenShift]) -> GateLine:
    """Return a line as it stands beside shifts of its passed rate; None: there was none."""
    stands = " and ".join(map(open_size, opened))
    why = f"open shift, neither recovered nor acknowledged: {stands}"
    if line is None:
        return GateLine(
            model_id=opened[0].series.model_id,
            metric="passed_rate",
            outcome="failed",
            why=why,
            unseen=None,
            by_open_shift=True,
        )
    return line.model_copy(
        update={
            "outcome": "failed",
            "why": f"{why}; against the baseline: {line.why}",
            "by_open_shift": line.outcome != "failed",
        }
    )


@dataclass(frozen=True)
class Question:
    """What a gate is asked."""

    rules: GateRules
    limits: ThresholdsUsed
    candidate: str = "latest"
    baseline: str = "previous"
    model: str | None = None
    confirm: str | None = None
    """A fresh run that has to say the same."""
    allow: Collection[Axis] = ()
    labels: Path | None = None
    """What people say of trials, by which judges are calibrated."""
    known: KnownFile | None = None
    """Its quarantined cases are not tested, and its acknowledged shifts stand no more."""


@dataclass(frozen=True)
class Decision:
    """The answer, and the runs that were judged."""

    result: GateResult
    candidate: ChosenSide


def decide(session: Session, question: Question, today: date) -> Decision:
    """Return what a gate says.

    Entries of a quarantine hold until their last day.

    Raises:
        RunNotFound: there is no such run; names what is near.
        ConfigError: a side means nothing, or the confirming run cannot confirm.
        ViewError: the lake cannot be read.
    """
    metrics = sorted(question.rules.metrics, key=lambda metric: metric != "passed_rate")
    histories = None
    if question.model is None and asks_levels(question.baseline):
        histories = Histories(session, metrics, allow=question.allow)
    opened = find_open_shifts(
        session,
        _alone(session, question.candidate, question.model).run_ids,
        limits=question.limits.thresholds,
        metrics=[metric for metric in METRICS if metric in question.rules.metrics],
        model=question.model,
        allow=question.allow,
        known=question.known,
        max_drop=question.rules.max_drop,
        histories=histories,
    )
    try:
        baselines, candidate = resolve_baseline(
            session,
            question.baseline,
            question.candidate,
            limits=question.limits.thresholds,
            metrics=metrics,
            model=question.model,
            allow=question.allow,
            opened=opened.shifts,
            histories=histories,
        )
    except NoEarlierRun as exc:
        return _first_night(session, question, exc)
    known = read_ids(session).with_newest_ids(question.known)
    quarantine = Quarantine() if known is None else quarantine_on(today, known)

    def compared(base: ChosenSide, chosen: ChosenSide) -> Comparison:
        # nights before the candidate: what a fresh run is to confirm is no noise of nights
        return compare(
            read_evidence(session, base, chosen, before=candidate.run_ids),
            limits=question.limits,
            allow=question.allow,
            min_coverage=question.rules.min_coverage,
            without=quarantine.holding,
        )

    confirming = None
    if question.confirm is not None:
        confirming = _alone(session, question.confirm, question.model)
        base_runs = {run_id for one in baselines for run_id in one.runs.run_ids}
        check_confirming(session, confirming, candidate, base_runs)
    first, *others = (
        BaselineComparison(
            metrics=one.metrics,
            comparison=compared(one.runs, candidate),
            confirmation=None if confirming is None else compared(one.runs, confirming),
        )
        for one in baselines
    )
    result = judge(first.comparison, question.rules, first.confirmation, others)
    result = with_open_shifts(result, [one.shift for one in opened.shifts], opened.unused)
    result = _calibrated(session, question, candidate, result)
    return Decision(with_quarantine(result, quarantine), candidate)


def _first_night(session: Session, question: Question, why: NoEarlierRun) -> Decision:
    """Return that a gate cannot judge the first run of a suite: a line for each of its models."""
    model, texts = question.model, Texts(session)
    plans = texts.plans_of(question.candidate, [] if model is None else [model])
    keys = {key for planned in texts.history.with_models(plans) for key in planned.models}
    models = sorted({key.model_id for key in keys if model is None or is_called(key, model)})
    candidate = ChosenSide(question.candidate, runs_of(plans), model)
    base = ChosenSide(question.baseline, (), model)
    evidence = read_evidence(session, base, candidate)
    comparison = compare(evidence, limits=question.limits, allow=question.allow)
    lines = [
        GateLine(
            model_id=model_id,
            metric=metric,
            outcome="cannot_judge",
            why=f"{why.what}; the gate of the next run is held against this one",
            unseen=None,
        )
        for model_id in models
        for metric in question.rules.metrics
    ]
    alone = comparison.model_copy(update={"unmatched": ()})  # each of its lines says so
    result = judge(alone, question.rules).model_copy(update={"lines": tuple(lines)})
    return Decision(_calibrated(session, question, candidate, result), candidate)


def _calibrated(
    session: Session, question: Question, candidate: ChosenSide, result: GateResult
) -> GateResult:
    """Return a result beside what people say of the judges that have a say in it."""
    least = question.limits.thresholds.min_calibration
    found = judge_calibrations(session, candidate.run_ids, question.labels, least)
    return with_calibrations(result, list(found))


def _alone(session: Session, text: str, model: str | None) -> ChosenSide:
    """Return the runs that a text means by itself."""
    plans = Texts(session).plans_of(text, [] if model is None else [model])
    return ChosenSide(text, runs_of(plans), model)


def candidate_cases(session: Session, candidate: ChosenSide) -> list[CandidateCase]:
    """Return the cases of a candidate by suite, model and case; trials of several runs add up."""
    found: dict[Key, list[CaseOutcome]] = {}
    for row in read_outcomes(session, candidate.run_ids):
        if candidate.model in {None, row.key.model_id, row.key.model}:
            key = row.case.suite_id, row.key.model_id, row.case.case_id
            found.setdefault(key, []).append(row)
    causes: dict[Key, Counter[str]] = {}
    for (_, model_id, case), counts in read_causes(session, candidate.run_ids).items():
        causes.setdefault((case.suite_id, model_id, case.case_id), Counter()).update(counts)
    return [
        CandidateCase(
            *key,
            n_scorable=sum(row.counts.n_scorable for row in rows),
            n_scored=sum(row.counts.n_scored for row in rows),
            n_passed=sum(row.counts.n_passed for row in rows),
            causes=causes.get(key, Counter()),
        )
        for key, rows in sorted(found.items())
    ]


Key = tuple[str, str, str]
"""suite_id, model_id, case_id."""


@dataclass(frozen=True, slots=True)
class CandidateCase:
    """One case of the candidate with one model."""

    suite_id: str
    model_id: str
    case_id: str
    n_scorable: int
    n_scored: int
    n_passed: int
    causes: Mapping[str, int]
    """Why trials have no verdict."""

    @property
    def key(self) -> Key:
        """What names it."""
        return self.suite_id, self.model_id, self.case_id

"""From what a user asked of a gate to its answer: both sides, the comparison, the rules."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from analyze.aliases.ids import read_ids
from analyze.compare.sides import Chosen
from analyze.comparison.compare import compare
from analyze.comparison.evidence.plans import is_called
from analyze.comparison.evidence.run_sets import NothingBefore, Texts, runs_of
from analyze.gate.baseline import resolve_baseline
from analyze.gate.fresh import check_confirming
from analyze.gate.open_shifts import with_open_shifts
from analyze.gate.past_runs import asks_levels
from analyze.gate.quarantine import Quarantine, quarantine_on, with_quarantine
from analyze.gate.rules import judge
from analyze.regressions.open_shifts import find_open_shifts
from analyze.regressions.series import Histories
from analyze.shifts.levels import METRICS
from schemas.config.known_issues import KnownFile
from schemas.output.comparison import Axis, Comparison, ThresholdsUsed
from schemas.output.gate import BaselineComparison, GateLine, GateResult, GateRules

if TYPE_CHECKING:
    from analyze.query.session import Session


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
    known: KnownFile | None = None
    """Its quarantined cases are not tested, and its acknowledged shifts stand no more."""


@dataclass(frozen=True)
class Decision:
    """The answer, and the runs that were judged."""

    result: GateResult
    candidate: Chosen


def decide(session: Session, question: Question, today: date) -> Decision:
    """Return what a gate says.

    Args:
        session: the open lake.
        question: what is asked.
        today: entries of a quarantine hold until their last day.

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
    except NothingBefore as exc:
        return _first_night(session, question, exc)
    known = read_ids(session).known(question.known)
    quarantine = Quarantine() if known is None else quarantine_on(today, known)

    def compared(base: Chosen, chosen: Chosen) -> Comparison:
        return compare(
            session,
            base,
            chosen,
            limits=question.limits,
            allow=question.allow,
            min_coverage=question.rules.min_coverage,
            without=quarantine.holding,
            before=candidate.run_ids,  # what a fresh run is to confirm is no noise of nights
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
    return Decision(with_quarantine(result, quarantine), candidate)


def _first_night(session: Session, question: Question, why: NothingBefore) -> Decision:
    """Return that a gate cannot judge the first run of a suite: a line for each of its models."""
    model, texts = question.model, Texts(session)
    plans = texts.alone(question.candidate, [] if model is None else [model])
    keys = {key for planned in texts.history.with_models(plans) for key in planned.models}
    models = sorted({key.model_id for key in keys if model is None or is_called(key, model)})
    candidate = Chosen(question.candidate, runs_of(plans), model)
    base = Chosen(question.baseline, (), model)
    comparison = compare(session, base, candidate, limits=question.limits, allow=question.allow)
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
    return Decision(result, candidate)


def _alone(session: Session, text: str, model: str | None) -> Chosen:
    """Return the runs that a text means by itself."""
    plans = Texts(session).alone(text, [] if model is None else [model])
    return Chosen(text, runs_of(plans), model)

"""The first screen as values: each model with its interval to scale, then what to distrust."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analyze.regressions.document import open_sentences
from analyze.render.numbers import case_mean, duration, moment, percent, strict_after, whole
from analyze.report.html.tables_models import asked_as
from analyze.report.sentences import change_sentence, changes_beside
from schemas.errors import counted
from schemas.output.comparison import Verdict
from schemas.output.report import ModelAnswer, ReportedRun, RunReport

SIGNS: dict[Verdict, str] = {
    "improved": "▲",
    "regressed": "▼",
    "unchanged": "=",
    "inconclusive": "?",
    "not_comparable": "≠",
}
"""What tells the verdicts apart without colour."""

MOST_MODELS = 12
"""On the first screen; the leaderboard has all."""

MOST_OPEN = 3
"""Shifts that are not folded away."""

MOST_DOUBTS = 3
"""That are not folded away."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One model of the first screen; places on the bar are percentages of its width."""

    name: str
    below: str
    rate: str
    interval: str
    strict: str
    """The rate with what has no verdict as failed; empty where nothing lacks one."""
    low: str
    width: str
    at: str
    base_at: str
    """Where the baseline stood; empty without one."""
    is_leading: bool
    sign: str
    look: str
    change: str
    beside: str
    """What else changed: times and costs."""


def standings(report: RunReport) -> list[Standing]:
    """Return the models of the first screen, best first."""
    before, beside = _base_rates(report), changes_beside(report)
    has_baseline = bool(report.baseline)
    return [
        _standing(
            answer, before.get(answer.model_id), beside.get(answer.model_id, ""), has_baseline
        )
        for answer in report.answer[:MOST_MODELS]
    ]


def _base_rates(report: RunReport) -> dict[str, float]:
    groups = report.comparison.groups if report.comparison else ()
    return {
        group.candidate_model_id: group.difference.base_rate
        for group in groups
        if group.difference and group.verdict != "not_comparable"
    }


def _standing(
    answer: ModelAnswer, before: float | None, beside: str, has_baseline: bool
) -> Standing:
    low, high = answer.low, answer.high
    is_known = low is not None and high is not None
    mean = case_mean(answer.passed_rate, answer.estimate)
    return Standing(
        name=answer.model_id,
        below=asked_as(answer),
        rate=percent(answer.passed_rate),
        interval=f"{mean}{percent(low)} to {percent(high)}" if is_known else "",
        strict=_strict(answer),
        low=percent(low),
        width=percent(max((high or 0) - (low or 0), 0.004)) if is_known else "",
        at=percent(answer.passed_rate),
        base_at=percent(before),
        is_leading=answer.is_leading,
        sign=SIGNS[answer.change] if answer.change else "",
        look=answer.change or "",
        change=change_sentence(answer) if has_baseline else "",
        beside=beside,
    )


def _strict(answer: ModelAnswer) -> str:
    if answer.passed_rate is None:
        return ""
    return strict_after(answer.score_strict, answer.coverage).removeprefix(", ")


@dataclass(frozen=True, slots=True)
class Folded:
    """A list of which the first ones are seen at once, and the others are folded away."""

    first: Sequence[object]
    folded: Sequence[object]


def open_shifts(report: RunReport) -> Folded:
    """Return what stands, each shift with its command: pass rates before times and costs."""
    ordered = sorted(report.open_shifts, key=lambda one: one.series.metric != "passed_rate")
    lines = list(open_sentences(ordered))
    return Folded(lines[:MOST_OPEN], lines[MOST_OPEN:])


def run_facts(run: ReportedRun) -> list[tuple[str, str]]:
    """Return what a run was, name and value; what is not known is left out."""
    started = moment(run.started_at_ms)
    facts = [
        ("run", run.run_id),
        ("suite", run.suite_id),
        ("started", f"{started} UTC" if started else ""),
        ("took", duration(run.took_ms or None)),
        ("cases", whole(run.n_cases)),
        ("results", f"{whole(run.n_total)} of {counted(run.n_planned, 'trial')}"),
        ("verdicts", f"{whole(run.n_scored)} of {whole(run.n_scorable)}"),
        ("profile", run.run_profile_id or ""),
        ("shard", run.shard or ""),
        ("labels", ", ".join(run.labels)),
        ("imported", "another tool made it" if run.is_imported else ""),
        ("made by benchlake", run.benchlake_version or ""),
    ]
    return [(name, value) for name, value in facts if value]

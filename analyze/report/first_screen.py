"""The first screen as values: each model with its interval to scale, then what to distrust."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analyze.regressions.document import entry_line, open_sentences
from analyze.render.numbers import (
    DASH,
    case_mean,
    duration,
    millis,
    moment,
    percent,
    strict_after,
    usd,
    whole,
)
from analyze.report.markdown_text import (
    MAX_TEXT_CHARS,
    command_text,
    list_lines,
    plain,
    table_lines,
)
from analyze.report.sentences import change_sentence, ratio_changes
from analyze.report.table import model_settings
from schemas.errors import counted
from schemas.output.comparison import Verdict
from schemas.output.report import ModelAnswer, ReportedRun, RunReport
from schemas.output.summary import GroupSummary
from schemas.run.model_names import with_id

TITLES = ("model", "passed %", "95 %", "since the baseline", "coverage %", "p50 ms", "cost USD")

SIGNS: dict[Verdict, str] = {
    "improved": "▲",
    "regressed": "▼",
    "unchanged": "=",
    "inconclusive": "?",
    "not_comparable": "≠",
}
"""What tells the verdicts apart without colour."""

MAX_MODELS = 12
"""On the first screen; the leaderboard has all."""

MAX_OPEN_SHIFTS = 3
"""Shifts that are not folded away."""

MAX_DOUBTS = 3
"""That are not folded away; serious ones never are."""

MAX_STACKED = 4
"""Models that stand above what to distrust, since they are too few to stand beside it."""


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
    ratios: str
    """What else changed: times and costs."""
    facts: str
    """Median time, cost, and how many trials were not answered."""


def standings(report: RunReport) -> list[Standing]:
    """Return the models of the first screen, best first."""
    before, ratios = _base_rates(report), ratio_changes(report)
    has_baseline = bool(report.baseline)
    return [
        _standing(
            answer,
            before.get(answer.model_id),
            ratios.get(answer.model_id, ""),
            _facts(_summary_of(answer, report)),
            has_baseline=has_baseline,
        )
        for answer in report.answer[:MAX_MODELS]
    ]


def _base_rates(report: RunReport) -> dict[str, float]:
    groups = report.comparison.groups if report.comparison else ()
    return {
        group.candidate_model_id: group.difference.base_rate
        for group in groups
        if group.difference and group.verdict != "not_comparable"
    }


def _standing(
    answer: ModelAnswer, before: float | None, ratios: str, facts: str, *, has_baseline: bool
) -> Standing:
    low, high = answer.low, answer.high
    is_known = low is not None and high is not None
    mean = case_mean(answer.passed_rate, answer.estimate).rstrip()
    beginning = f"{mean}: " if mean else ""
    return Standing(
        name=answer.model_id,
        below=model_settings(answer),
        rate=percent(answer.passed_rate),
        interval=f"{beginning}{percent(low)} to {percent(high)}" if is_known else "",
        strict=_strict(answer),
        low=percent(low),
        width=percent(max((high or 0) - (low or 0), 0.004)) if is_known else "",
        at=percent(answer.passed_rate),
        base_at=percent(before),
        is_leading=answer.is_leading,
        sign=SIGNS[answer.change] if answer.change else "",
        look=answer.change or "",
        change=change_sentence(answer) if has_baseline else "",
        ratios=ratios,
        facts=facts,
    )


def _facts(model: GroupSummary | None) -> str:
    """Return what else there is to know of a model; what is not known is left out."""
    if model is None:
        return ""
    parts = []
    if model.latency_ms.p50 is not None:
        parts.append(f"p50 {_median(model, ' ms')}")
    if model.cost_usd is not None:
        parts.append(_cost(model, " USD"))
    if n_failed := model.n_total - model.n_success:
        parts.append(f"{whole(n_failed)} of {counted(model.n_total, 'trial')} not answered")
    return " · ".join(parts)


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
    return Folded(lines[:MAX_OPEN_SHIFTS], lines[MAX_OPEN_SHIFTS:])


def run_facts(run: ReportedRun) -> list[tuple[str, str]]:
    """Return what a run was, name and value; what is not known is left out."""
    started = moment(run.started_at_ms)
    facts = [
        ("run", run.run_id),
        ("suite", run.suite_id),
        ("started", f"{started} UTC" if started else ""),
        ("took", duration(run.took_ms or None)),
        ("planned cases", whole(run.n_cases)),
        ("results", f"{whole(run.n_total)} of {counted(run.n_planned, 'trial')}"),
        ("verdicts", f"{whole(run.n_scored)} of {whole(run.n_scorable)}"),
        ("profile", run.run_profile_id or ""),
        ("shard", run.shard or ""),
        ("labels", ", ".join(run.labels)),
        ("imported", "another tool made it" if run.is_imported else ""),
        ("made by benchlake", run.benchlake_version or ""),
    ]
    return [(name, value) for name, value in facts if value]


def answer_parts(report: RunReport) -> dict[str, object]:
    """Return what the template of the first screen prints."""
    shown = standings(report)
    n_serious = sum(doubt.is_serious for doubt in report.doubts)
    n_shown = max(MAX_DOUBTS, n_serious)
    return {
        "standings": shown,
        "n_more": len(report.answer) - len(shown),
        "open": open_shifts(report),
        "doubts": Folded(report.doubts[:n_shown], report.doubts[n_shown:]),
        "n_serious": n_serious,
        "is_stacked": len(shown) <= MAX_STACKED,
        "has_leading": len(shown) > 1 and any(one.is_leading for one in shown),
    }


def answer_markdown(report: RunReport) -> Iterator[Sequence[str]]:
    """Yield the models, what stands, and what to distrust, for Markdown."""
    yield table_lines(TITLES, [_model_row(answer, report) for answer in report.answer])
    yield list_lines("Open shifts", _open_shifts(report))
    yield list_lines("Acknowledged, and no such shift", _unused(report))
    yield list_lines("To distrust", _doubts(report))


def _model_row(answer: ModelAnswer, report: RunReport) -> list[str]:
    model = _summary_of(answer, report)
    known = answer.low is not None and answer.high is not None
    mean = case_mean(answer.passed_rate, answer.estimate)
    since = [change_sentence(answer), ratio_changes(report).get(answer.model_id, "")]
    return [
        plain(with_id(answer.model_id)),
        _passed(answer),
        f"{mean}{percent(answer.low)} to {percent(answer.high)}" if known else DASH,
        plain("; ".join(filter(None, since))) if report.baseline else DASH,
        (percent(model.coverage) if model else "") or DASH,
        _median(model) if model else DASH,
        _cost(model) if model else DASH,
    ]


def _passed(answer: ModelAnswer) -> str:
    if answer.passed_rate is None:
        return DASH
    strict = strict_after(answer.score_strict, answer.coverage)
    return percent(answer.passed_rate) + strict


def _summary_of(answer: ModelAnswer, report: RunReport) -> GroupSummary | None:
    wanted = answer.provider, answer.model, answer.thinking_level, answer.model_id
    for model in report.summary.models:
        if (model.provider, model.model, model.thinking_level, model.model_id) == wanted:
            return model
    return None


def _median(model: GroupSummary, unit: str = "") -> str:
    times = model.latency_ms
    if times.p50 is None:
        return DASH
    few = "" if times.supported.p50 else f" (of {whole(times.n)} only)"
    return millis(times.p50) + unit + few


def _cost(model: GroupSummary, unit: str = "") -> str:
    if model.cost_usd is None:
        return DASH
    if model.n_cost_known == model.n_total:
        return usd(model.cost_usd) + unit
    trials = counted(model.n_total, "trial")
    return f"{usd(model.cost_usd)}{unit} (of {whole(model.n_cost_known)} of {trials})"


def _doubts(report: RunReport) -> list[str]:
    lines = []
    for doubt in report.doubts:
        head = "**serious**: " if doubt.is_serious else ""
        command = command_text(doubt.command or "")
        lines.append(head + plain(doubt.sentence) + (f" ({command})" if command else ""))
    return lines


def _open_shifts(report: RunReport) -> list[str]:
    """Return what stands: neither mended nor acknowledged."""
    return [
        "; ".join(filter(None, (plain(sentence, 2 * MAX_TEXT_CHARS), command_text(command))))
        for sentence, command in open_sentences(report.open_shifts)
    ]


def _unused(report: RunReport) -> list[str]:
    """Return the entries of the file of known things that fit no shift."""
    entries = report.shifts.unused if report.shifts else ()
    return [plain(entry_line(entry), 2 * MAX_TEXT_CHARS) for entry in entries]

"""What the quality of each model costs, in money and in time, and how well that is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields

from analyze.contracts.models import CostQualityRow
from analyze.render.numbers import limits_of, millis, percent, some, usd
from analyze.report.sections import ReportContext, Section, query
from analyze.report.sections.answer import may_be_named
from analyze.report.table import MODEL, Cell, Column, Table, number
from analyze.stats.intervals import LOG_UNIT, CaseSums, mean_interval
from schemas.output.report import FrontierPoint, RunReport
from schemas.output.summary import GroupSummary

Limits = tuple[float | None, float | None]

UNKNOWN: Limits = (None, None)

N_SUMS = len(fields(CaseSums))

YES = {None: "cannot be said", True: "yes", False: "no"}

MAX_NAMED = 6
"""Models that a sentence names."""

NANO = 1e9
"""Nano-dollars of a dollar."""


def frontier_of(context: ReportContext) -> tuple[FrontierPoint, ...]:
    """Return a point for each model of the run, in the summary's order.

    It is empty when none has a rate and a cost or a time.

    The interval of a rate is the summary's. Those of the cost per trial with a verdict and of the
    mean time of successes are Student's t over cases, as a factor of the mean
    (`analyze.stats.intervals`); None below two cases. The cost has in it
    what was paid for trials without a verdict.

    Raises:
        ViewError: the lake cannot be read.
    """
    rows = context.session.read(CostQualityRow, "run_id = ?", [context.run_id])
    if not any(_is_drawn(row) for row in rows):
        return ()
    least = context.limits.thresholds.min_coverage
    ranked = {one.model_id for one in context.summary.models if may_be_named(one, least)}
    rivals = [row for row in rows if row.model_id in ranked]
    groups = {group.model_id: group for group in context.summary.models}
    sums = {
        model_id: (CaseSums(*rest[:N_SUMS]), CaseSums(*rest[N_SUMS:]))
        for model_id, *rest in context.session.rows(
            query("case_sums"), [context.run_id, LOG_UNIT, LOG_UNIT]
        )
    }
    places = {model_id: place for place, model_id in enumerate(groups)}
    rows = sorted(rows, key=lambda row: places[row.model_id])
    return tuple(_point(row, groups[row.model_id], sums.get(row.model_id), rivals) for row in rows)


def _point(
    row: CostQualityRow,
    group: GroupSummary,
    sums: tuple[CaseSums, CaseSums] | None,
    rivals: Sequence[CostQualityRow],
) -> FrontierPoint:
    cost, time = (mean_interval(one) or UNKNOWN for one in sums) if sums else (UNKNOWN, UNKNOWN)
    rate = group.passed_ci95
    return FrontierPoint(
        model_id=row.model_id,
        n_scored=row.n_scored,
        passed_rate=row.passed_rate,
        low=rate and rate.low,
        high=rate and rate.high,
        estimate=rate and rate.estimate,
        cost_usd_per_scored=row.cost_usd_per_scored,
        cost_low=_dollars(cost[0]),
        cost_high=_dollars(cost[1]),
        e2e_ms_mean=row.e2e_ms_mean,
        e2e_ms_low=time[0],
        e2e_ms_high=time[1],
        is_on_frontier=row.is_on_frontier,
        is_on_time_frontier=_is_on_time_frontier(row, rivals) if row in rivals else None,
    )


def _is_drawn(row: CostQualityRow) -> bool:
    """Return whether a model has a place in one of the two planes."""
    known = row.cost_usd_per_scored is not None or row.e2e_ms_mean is not None
    return row.passed_rate is not None and known


def _is_on_time_frontier(row: CostQualityRow, rivals: Sequence[CostQualityRow]) -> bool | None:
    """Return whether no rival is quicker and at least as good, or better and no slower.

    As `is_on_frontier` of the mart is of money; None where the time is unknown. Neither a model
    of which too little is known to be named best, nor what stands before it, is asked about.
    """
    if row.e2e_ms_mean is None or row.passed_rate is None:
        return None
    return not any(
        (rival.e2e_ms_mean < row.e2e_ms_mean and rival.passed_rate >= row.passed_rate)
        or (rival.e2e_ms_mean <= row.e2e_ms_mean and rival.passed_rate > row.passed_rate)
        for rival in rivals
        if rival.e2e_ms_mean is not None and rival.passed_rate is not None
    )


def _dollars(nano_usd: float | None) -> float | None:
    return None if nano_usd is None else nano_usd / NANO


def frontier(points: tuple[FrontierPoint, ...]) -> Table:
    """Return what quality costs with each model, in money and in time."""
    columns = (
        MODEL,
        Column("passed %", "passed_rate", is_number=True),
        Column("95 %", "passed_ci95"),
        Column("USD per verdict", "cost_usd_per_scored", is_number=True),
        Column("95 % USD", "cost_low"),
        Column("best for its cost", "is_on_frontier"),
        Column("mean ms", "e2e_ms_mean", is_number=True),
        Column("95 % ms", "e2e_ms_low"),
        Column("best for its time", "is_on_time_frontier"),
    )
    rows = [
        [
            Cell(one.model_id),
            number(percent(one.passed_rate)),
            Cell(limits_of(one.passed_rate, one), look="n range"),
            number(usd(one.cost_usd_per_scored), one.cost_usd_per_scored),
            _range(one.cost_low, one.cost_high, usd),
            Cell(YES[one.is_on_frontier] if one.cost_usd_per_scored is not None else ""),
            number(millis(one.e2e_ms_mean)),
            _range(one.e2e_ms_low, one.e2e_ms_high, millis),
            Cell(YES[one.is_on_time_frontier] if one.e2e_ms_mean is not None else ""),
        ]
        for one in points
    ]
    return Table("frontier", "Quality, cost and time of each model", columns, rows)


def _range(low: float | None, high: float | None, form: Callable[[float | None], str]) -> Cell:
    is_known = low is not None and high is not None
    return Cell(f"[{form(low)}, {form(high)}]" if is_known else "", look="n range")


def frontier_lines(points: tuple[FrontierPoint, ...]) -> list[str]:
    """Return which models no other one beats, in money and in time; not of a single model."""
    if len(points) < 2:
        return []
    by_cost = [one.model_id for one in points if one.is_on_frontier]
    by_time = [one.model_id for one in points if one.is_on_time_frontier]
    lines = (("cost", by_cost, "cheaper"), ("time", by_time, "quicker"))
    return [
        f"Best for its {what}: {some(names, most=MAX_NAMED)}; none is {than} and as good."
        for what, names, than in lines
        if names
    ]


def _parts(report: RunReport) -> dict[str, object] | None:
    if not report.frontier:
        return None
    return {
        "table": frontier(report.frontier),
        "lines": frontier_lines(report.frontier),
        "is_ranked": len(report.frontier) > 1,
    }


FRONTIER = Section("Quality, cost, time", show=_parts, read=frontier_of)

"""What the quality of each model costs, in money and in time, and how well that is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from analyze.contracts.models import CostQualityRow
from analyze.report.sections.answer import may_be_named
from analyze.stats.intervals import LOG_UNIT, CaseSums, mean_interval
from schemas.output.report import FrontierPoint

if TYPE_CHECKING:
    from analyze.report.sections import ReportContext
    from schemas.output.summary import GroupSummary

Limits = tuple[float | None, float | None]

UNKNOWN: Limits = (None, None)

N_SUMS = len(fields(CaseSums))

NANO = 1e9
"""Nano-dollars of a dollar."""

_LOG = f"cast(round(ln(cast({{total}} as double) / cast({{n}} as double)) * {LOG_UNIT}) as hugeint)"
"""Of a case's mean, as a whole number, so that sums of them do not depend on an order."""

SQL = """
with

priced as (
    select
        model_id,
        case_id,
        case when cost_nano_usd is not null then passed end as priced_passed,
        cost_nano_usd,
        case when is_success then e2e_ms end as e2e_ms
    from trials
    where run_id = ? and is_measured
),

of_case as (
    select
        model_id,
        count(cost_nano_usd) > 0 as is_priced,
        cast(sum(cost_nano_usd) as hugeint) as cost,
        cast(count(priced_passed) as hugeint) as n_priced,
        count(e2e_ms) > 0 as is_timed,
        cast(sum(e2e_ms) as hugeint) as e2e,
        cast(count(e2e_ms) as hugeint) as n_timed
    from priced
    group by model_id, case_id
),

in_logs as (
    select
        *,
        case when cost > 0 and n_priced > 0 then {cost_log} end as cost_log,
        case when e2e > 0 then {e2e_log} end as e2e_log
    from of_case
)

select
    model_id,
    count(*) filter (is_priced),
    coalesce(sum(cost) filter (is_priced), 0),
    coalesce(sum(n_priced) filter (is_priced), 0),
    coalesce(sum(cost * cost) filter (is_priced), 0),
    coalesce(sum(cost * n_priced) filter (is_priced), 0),
    coalesce(sum(n_priced * n_priced) filter (is_priced), 0),
    count(*) filter (is_priced and cost = 0),
    count(cost_log),
    coalesce(sum(cost_log), 0),
    coalesce(sum(cost_log * cost_log), 0),
    count(*) filter (is_timed),
    coalesce(sum(e2e) filter (is_timed), 0),
    coalesce(sum(n_timed) filter (is_timed), 0),
    coalesce(sum(e2e * e2e) filter (is_timed), 0),
    coalesce(sum(e2e * n_timed) filter (is_timed), 0),
    coalesce(sum(n_timed * n_timed) filter (is_timed), 0),
    count(*) filter (is_timed and e2e = 0),
    count(e2e_log),
    coalesce(sum(e2e_log), 0),
    coalesce(sum(e2e_log * e2e_log), 0)
from in_logs
group by model_id
""".format(
    cost_log=_LOG.format(total="cost", n="n_priced"), e2e_log=_LOG.format(total="e2e", n="n_timed")
)
"""Whole numbers of each model's cases, exact in any order; products are wider than a bigint."""


def frontier_of(context: ReportContext) -> tuple[FrontierPoint, ...]:
    """Return a point for each model of the run; empty when none has a rate and a cost or a time.

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
        for model_id, *rest in context.session.rows(SQL, [context.run_id])
    }
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

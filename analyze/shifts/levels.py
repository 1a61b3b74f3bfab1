"""The levels of one series: which metric is scanned how, and what keeps one from being judged."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, get_args

import numpy as np

from analyze.comparison.evidence.outcomes import LN_SCALE
from analyze.stats.changepoints.rates import scan_rate
from analyze.stats.changepoints.values import scan_values
from analyze.stats.unit_columns import unit_columns
from schemas.config.known_issues import ShiftMetric
from schemas.errors import counted

if TYPE_CHECKING:
    from analyze.regressions.series import Series
    from analyze.stats.changepoints.scan import LevelShift, Scan, Segment
    from schemas.config.project import Thresholds
    from schemas.output.comparison import Metric

METRICS: tuple[ShiftMetric, ...] = get_args(ShiftMetric)

FEWEST = 6
"""Runs without which no level can be told from another: three on each side."""

NANO = 1e9


def scan(series: Series, metric: Metric, limits: Thresholds) -> Scan:
    """Return the levels of a metric of a series; indices are places in its points.

    Those of METRICS raise alerts. The others have levels too, for whoever asks.
    """
    if metric == "passed_rate":
        hashes, passed, scored = unit_columns(
            series.clusters, series.hashes, series.passed, series.scored
        )
        return scan_rate(hashes, passed, scored, series.coverage, margin=limits.pass_rate_margin)
    counts, sums = series.measured[metric]
    unit = math.log(NANO) if metric == "cost_usd" else 0.0
    logs = np.where(counts > 0, sums / LN_SCALE / np.maximum(counts, 1) - unit, np.nan)
    return scan_values(
        series.hashes, logs, counts, series.coverage, ratio_margin=limits.ratio_margin
    )


def rests_on(series: Series, metric: ShiftMetric, shift: LevelShift) -> tuple[int, int | None]:
    """Return the cases that a shift rests on, and the units they make up; None: each is one."""
    if metric != "passed_rate" or not any(series.clusters):
        return shift.n_cases, None
    before, after = series.hashes[shift.last_before], series.hashes[shift.at]
    return int(np.count_nonzero((before == after) & (after >= 0))), shift.n_cases


def why_not(series: Series, metric: ShiftMetric) -> str | None:
    """Return why a metric of a series has no levels at all; None: it may have."""
    if not (series.hashes >= 0).any():
        return (
            "the content of its cases is not known (an older folder); "
            "`--allow case` goes by their ids"
        )
    if metric == "passed_rate":
        return None if series.scored.any() else "none of its trials has a verdict"
    name = "time" if metric == "e2e_ms" else "cost above 0"
    return None if series.measured[metric][0].any() else f"no {name} of it is known"


def has_enough(series: Series, found: Scan) -> bool:
    """Return whether a series had at any time runs enough to shift."""
    return bool(found.shifts) or any(_n_runs(series, one) >= FEWEST for one in found.segments)


def _n_runs(series: Series, segment: Segment) -> int:
    return int(np.count_nonzero(series.is_usable[segment.first : segment.last + 1]))


def why_not_now(series: Series, found: Scan) -> str | None:
    """Return why the newest level of a series could not shift yet; None: it could."""
    if not found.segments:
        return "none of its runs has enough verdicts"
    newest = found.segments[-1]
    n_runs = _n_runs(series, newest)
    if n_runs >= FEWEST or newest.cause == "shift":
        return None
    runs = counted(n_runs, "run")
    if newest.cause == "suite_changed":
        first = series.points[newest.first].run_id
        return f"{runs} since its cases changed with `{first}`; {FEWEST} are needed"
    return f"{runs}; {FEWEST} are needed"

"""How often the formulas of `analyze.stats` are right about draws whose truth is known.

Every function takes arrays of draws and calls the very functions that `analyze` calls. Draws that
differ only in the order of their cases are asked once and counted as often as they came.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analyze.regressions import detect
from analyze.regressions.points import Point
from analyze.regressions.series import Series
from analyze.regressions.standing import standing_shifts
from analyze.stats.changepoints.cells import cell_splits
from analyze.stats.changepoints.rates import scan_rate
from analyze.stats.changepoints.scan import Scan
from analyze.stats.changepoints.values import scan_values
from analyze.stats.exact_tests import sign_flip
from analyze.stats.intervals import LOG_UNIT, CaseSums, mean_interval, wilson_shrunk
from analyze.stats.paired_means import benjamini_hochberg
from analyze.stats.paired_rates import rate_difference
from schemas.config.project import Thresholds

Array = np.ndarray[Any, Any]

ALPHA = 0.05
WITHIN = 7
"""Runs of the new level within which a shift is told in time."""


@dataclass(frozen=True)
class Coverage:
    """Of intervals: how often they hold the truth, and how wide they are on average."""

    covered: float
    width: float


def coverage_of_rates(k: Array, m: Array, truth: float) -> Coverage:
    """Return how often the interval of a rate holds `truth`, over draws [draws, cases]."""
    holds, width, total = 0.0, 0.0, 0
    for passed, scored, times in _different(k, m):
        interval = wilson_shrunk(passed, scored)
        assert interval is not None
        holds += times * (interval.low <= truth <= interval.high)
        width += times * (interval.high - interval.low)
        total += times
    return Coverage(holds / total, width / total)


def coverage_of_costs(costs: Array, truth: float) -> Coverage:
    """Return how often the interval of a mean cost holds `truth`, over draws [draws, cases].

    The width is that of the logarithms of the limits.
    """
    nano = np.rint(costs * 1e9).astype(np.int64)
    logs = np.rint(np.log(np.maximum(nano, 1)) * LOG_UNIT).astype(np.int64)
    holds, widths = 0, []
    for of_case, log in zip(nano.tolist(), logs.tolist(), strict=True):
        n_zero = of_case.count(0)
        limits = mean_interval(
            CaseSums(
                len(of_case), sum(of_case), len(of_case), sum(t * t for t in of_case),
                sum(of_case), len(of_case), n_zero, len(of_case) - n_zero,
                sum(log), sum(one * one for one in log),
            )
        )  # fmt: skip
        if limits is not None and limits[1]:
            holds += limits[0] <= truth * 1e9 <= limits[1]
            widths.append(float(np.log(limits[1] / limits[0])))
    return Coverage(holds / len(nano), float(np.median(widths)))


@dataclass(frozen=True)
class PairedFigures:
    """Of comparisons: shares of the draws, and the width of the interval."""

    covered: float
    width: float
    significant: float
    """p at most 0.05, whatever the direction."""
    shown_worse: float
    """p at most 0.05, and the candidate is worse."""
    low90: Array
    high90: Array
    times: Array
    """How often each pair of 90 % limits came."""

    def proven(self, margin: float) -> float:
        """Return the share of draws in which a drop of more than `margin` is ruled out."""
        return float(self.times[self.low90 > -margin].sum() / self.times.sum())

    def same(self, margin: float) -> float:
        """Return the share of draws whose 90 % interval lies inside the margin."""
        inside = (self.low90 > -margin) & (self.high90 < margin)
        return float(self.times[inside].sum() / self.times.sum())


def figures_of_pairs(k_a: Array, m_a: Array, k_b: Array, m_b: Array, truth: float) -> PairedFigures:
    """Return what test and interval of a rate difference say, over draws [draws, cases]."""
    holds, width, found, worse = 0.0, 0.0, 0, 0
    limits: list[tuple[float, float, int]] = []
    for *sides, times in _different(k_a, m_a, k_b, m_b):
        interval, test = rate_difference(*sides), sign_flip(*sides)
        assert interval is not None
        holds += times * (interval.low <= truth <= interval.high)
        width += times * (interval.high - interval.low)
        is_shown = test.p <= ALPHA
        found += times * is_shown
        worse += times * (is_shown and interval.difference < 0)
        limits.append((interval.low90, interval.high90, times))
    low90, high90, count = (np.array(column) for column in zip(*limits, strict=True))
    total = count.sum()
    return PairedFigures(
        holds / total, width / total, found / total, worse / total, low90, high90, count
    )


def _different(*columns: Array) -> Iterator[Any]:
    """Yield the rows that differ in more than the order of their cases, and how often they come."""
    base = int(max(column.max() for column in columns)) + 1
    code = np.zeros_like(columns[0])
    for column in columns:
        code = code * base + column
    rows, counts = np.unique(np.sort(code, axis=1), axis=0, return_counts=True)
    parts = []
    for _ in columns:
        rows, part = np.divmod(rows, base)
        parts.append(part.tolist())
    yield from zip(*reversed(parts), counts.tolist(), strict=True)


@dataclass(frozen=True)
class ShiftFigures:
    """Of histories with at most one shift."""

    n_series: int
    false_alerts: int
    """Alerts when nothing has shifted yet, or ever."""
    repeated: int
    """Alerts after the one that told the shift."""
    offsets: tuple[int, ...]
    """Of each shift that was told: runs from the break to the run that the alert names."""
    delays: tuple[int, ...]
    """Of each shift that was told: runs of the new level until it was."""
    limits: tuple[tuple[float, float], ...]
    """Of each shift that was told: the interval of its size, at the end of the history."""

    @property
    def found(self) -> float:
        """Return the share of series whose shift was told within `WITHIN` runs of it."""
        return self.found_in(WITHIN)

    def found_in(self, runs: int) -> float:
        """Return the share of series whose shift was told within so many runs of it."""
        return sum(delay <= runs for delay in self.delays) / self.n_series

    def covered(self, size: float) -> float:
        """Return the share of the told shifts whose interval holds the true size."""
        return sum(low <= size <= high for low, high in self.limits) / max(len(self.limits), 1)

    @property
    def median_delay(self) -> float:
        """Return runs of the new level until half of the shifts that were told, were."""
        return float(np.median(self.delays)) if self.delays else float("nan")

    def placed(self, within: int) -> float:
        """Return the share of the told shifts whose alert names a run so near to the break."""
        return sum(abs(offset) <= within for offset in self.offsets) / max(len(self.offsets), 1)


def rate_shifts(
    series: Sequence[tuple[Array, Array]], shift_at: int | None, *, margin: float = 0.0
) -> ShiftFigures:
    """Return what the scan of pass rates finds in series of passes and trials [nights, cases]."""
    return _figures([scan_of_rates(k, m, margin=margin) for k, m in series], shift_at)


def scan_of_rates(k: Array, m: Array, *, margin: float) -> Scan:
    """Return the scan of passes and trials [nights, cases] that are covered and never change."""
    return scan_rate(np.zeros(k.shape, dtype=int), k, m, np.ones(len(k)), margin=margin)


def value_shifts(
    series: Sequence[Array], shift_at: int | None, *, ratio_margin: float = 0.0
) -> ShiftFigures:
    """Return what the scan of times finds in series of means of ln [nights, cases]."""
    return _figures([scan_of_values(one, ratio_margin=ratio_margin) for one in series], shift_at)


def scan_of_values(logs: Array, *, ratio_margin: float) -> Scan:
    """Return the scan of means of ln [nights, cases] that are covered and never change."""
    return scan_values(
        np.zeros(logs.shape, dtype=int),
        logs,
        np.isfinite(logs).astype(int),
        np.ones(len(logs)),
        ratio_margin=ratio_margin,
    )


def _figures(scans: Sequence[Scan], shift_at: int | None) -> ShiftFigures:
    early, repeated = 0, 0
    offsets, delays, limits = [], [], []
    for scan in scans:
        if shift_at is None:
            early += len(scan.shifts)
            continue
        late = [shift for shift in scan.shifts if shift.seen_at >= shift_at]
        early += len(scan.shifts) - len(late)
        if late:
            repeated += len(late) - 1
            offsets.append(late[0].at - shift_at)
            delays.append(late[0].seen_at - shift_at + 1)
            limits.append((late[0].low, late[0].high))
    return ShiftFigures(len(scans), early, repeated, tuple(offsets), tuple(delays), tuple(limits))


def open_drops(series: Sequence[tuple[Array, Array]], night: int) -> list[int]:
    """Return how many drops stand on a night (from 1) in each series of passes and trials."""
    limits, counts = Thresholds(), []
    for k, m in series:
        until = _one_series(k[:night], m[:night])
        levels = detect.scan(until, "passed_rate", limits)
        counts.append(len(standing_shifts(until, "passed_rate", levels, limits)))
    return counts


def nights_to_heal(series: Sequence[tuple[Array, Array]], heals_at: int, most: int) -> list[int]:
    """Return after how many healed nights nothing stands any more, at most `most`.

    Left out are series in which nothing stood on the night before, since there is nothing to heal.
    """
    stood = [one for one, n in zip(series, open_drops(series, heals_at), strict=True) if n]
    found = []
    for one in stood:
        closed = (n for n in range(1, most) if not open_drops([one], heals_at + n)[0])
        found.append(next(closed, most))
    return found


def _one_series(k: Array, m: Array) -> Series:
    """Return nights of counts as the series that a history would hold."""
    points = tuple(
        Point("suite", f"night-{n}", (f"night-{n}",), n, False, int(m[n].sum()), (), (), ())
        for n in range(len(k))
    )
    return Series(
        suite_id="suite",
        model_id="model",
        points=points,
        n_parts=0,
        case_ids=tuple(map(str, range(k.shape[1]))),
        clusters=(None,) * k.shape[1],
        hashes=np.zeros(k.shape, dtype=int),
        scored=m,
        passed=k,
        measured={},
        coverage=np.ones(len(k)),
        is_scorable=True,
        is_own=np.ones(len(k), dtype=bool),
    )


@dataclass(frozen=True)
class CellFigures:
    """Of single cells under one family."""

    found: int
    false: int
    first_run_right: int
    """Of those found: the first run after the split is the right one, give or take one."""


def shifted_cells(
    cells: Sequence[tuple[Array, Array]], n_changed: int, shift_at: int
) -> CellFigures:
    """Return which cells shift after Benjamini and Hochberg; the first `n_changed` really do."""
    splits = cell_splits(cells)
    qs = benjamini_hochberg([None if split is None else split.p for split in splits])
    shift_places = [place for place, q in enumerate(qs) if q is not None and q <= ALPHA]
    right = [place for place in shift_places if place < n_changed]
    near = 0
    for place in right:
        split = splits[place]
        near += split is not None and abs(split.at - shift_at) <= 1
    return CellFigures(len(right), len(shift_places) - len(right), near)

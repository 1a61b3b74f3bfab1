"""Level shifts of a time or a cost: the two-sample t of the best split of the runs.

A run is one draw, whatever its cases: they share the server, so the runs scatter by more than
their cases explain, and by how much only the runs themselves tell. Six of them are enough to see
that a time has become a hundred times as long; ranks are not, since of ranks there are few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from analyze.stats.changepoints.rates import RunValues
from analyze.stats.changepoints.scan import (
    BLUR,
    MIN_LENGTH,
    MIN_RUNS,
    Alert,
    Bools,
    Floats,
    Ints,
    Levels,
    Scan,
    best_splits,
    blocks,
    both_hold,
    find_points,
    scan_series,
)
from analyze.stats.paired_means import t_cdf, t_quantile

ALPHA = 5e-4
"""Chance of a false alert in one look: with 1e-4 a doubled time after four nights is told within
four more in seven of ten histories, with this in more than nine."""


def scan_values(
    hashes: ArrayLike,
    log_values: ArrayLike,
    counts: ArrayLike,
    coverage: ArrayLike,
    *,
    ratio_margin: float,
) -> Scan:
    """Return the level shifts of a time or a cost of one series.

    The value of a run is the mean over its cases of ln less the mean ln of the case over the
    prefix, plus the mean of all of these (`run_values`). The split that leaves the least square
    error counts. An alert needs a two-sample t (pooled variance) with a two-sided chance below
    5e-4, times the number of splits (Bonferroni), a ratio of the two levels outside 1 - margin to
    1 + margin, and two levels that hold (`both_hold`), which is what a spike is not.

    Args:
        hashes: runs x cases, oldest run first: a number for the version of the case that was
            planned, -1 where it was not.
        log_values: runs x cases: mean of ln of the values of a case; nan where there is none.
        counts: runs x cases: values behind that mean; a run without any is no point.
        coverage: of each run, the share of its trials with a verdict; below 0.9 it is no point.
        ratio_margin: 0.1 for the ratios 0.90 to 1.10, which are no alert.

    Raises:
        ValueError: the arrays do not describe the same runs and cases.
    """
    planned = np.asarray(hashes)
    values = np.asarray(log_values, dtype=float)
    known = (np.asarray(counts) > 0) & np.isfinite(values)
    points = find_points(planned, coverage, known)
    known = known[points] & (planned[points] >= 0)
    track = _Values(np.where(known, values[points], 0.0), known, ratio_margin)
    return scan_series(points, planned[points], track)


@dataclass(frozen=True, slots=True)
class _Values:
    """Logarithms of the runs that are points, 0 where there is none."""

    logs: Floats
    known: Bools
    ratio_margin: float

    def first_alert(self, start: int, end: int, cases: Bools, fresh: int) -> Alert | None:
        """See `Track`."""
        rows, values = self._values(start, end, cases)
        first = max(MIN_LENGTH, int(np.searchsorted(rows, fresh)) + 1)
        if len(rows) < first:
            return None
        for low, high in blocks(first, len(rows)):
            lengths = np.arange(low, high + 1)
            partial, squares = values.sums(low, high, MIN_RUNS)
            gain, k = best_splits(partial, low, high)
            scatter = np.maximum(squares - gain, 0)
            step = np.sqrt(gain * lengths / (k * (lengths - k)))
            is_rare = gain * (lengths - 2) > _critical_squares(low, high) * scatter
            for hit in np.flatnonzero(is_rare & (step >= self._least_step)).tolist():
                split, length = int(k[hit]), int(lengths[hit])
                found = values.at(length)
                old, new = found[:split], found[split:]
                ratio = math.exp(float(new.mean()) - float(old.mean()))
                inside = 1 - self.ratio_margin <= ratio <= 1 + self.ratio_margin
                at, seen = int(rows[split]), int(rows[length - 1])
                if (
                    not inside
                    and both_hold(old, new)
                    and self.levels(start, at, seen + 1, cases) is not None
                ):
                    return Alert(
                        at=at,
                        seen=seen,
                        p=_chance(float(gain[hit]), float(scatter[hit]), length),
                        direction="up" if ratio > 1 else "down",
                    )
        return None

    def levels(self, start: int, at: int, end: int, cases: Bools) -> Levels | None:
        """See `Track`; on the cases that have values of both levels."""
        known = self.known[start:end]
        cases = cases & known[: at - start].any(axis=0) & known[at - start :].any(axis=0)
        rows, values = self._values(start, end, cases)
        split, length = int(np.searchsorted(rows, at)), len(rows)
        if min(split, length - split) < MIN_RUNS:
            return None
        found = values.at(length)
        old, new = found[:split], found[split:]
        before, after = float(old.mean()), float(new.mean())
        scatter = float(np.square(old - before).sum() + np.square(new - after).sum())
        error = math.sqrt(scatter / (length - 2) * (1 / split + 1 / (length - split)))
        half = t_quantile(0.975, length - 2) * error
        return Levels(
            before=math.exp(before),
            after=math.exp(after),
            size=math.exp(after - before),
            low=math.exp(after - before - half),
            high=math.exp(after - before + half),
            n_before=split,
            n_after=length - split,
            last_before=int(rows[split - 1]),
        )

    @property
    def _least_step(self) -> float:
        """The step of ln that is surely inside the margin when it is not reached."""
        return math.log1p(self.ratio_margin) - BLUR

    def _values(self, start: int, end: int, cases: Bools) -> tuple[Ints, RunValues]:
        """Return the rows in which any of the cases has a value, and the value of each."""
        logs, known = self.logs[start:end], self.known[start:end]
        cases = cases & known.any(axis=0)
        if not cases.all():
            logs, known = logs.compress(cases, axis=1), known.compress(cases, axis=1)
        filled = known.any(axis=1)
        if not filled.all():
            logs, known = logs[filled], known[filled]
        return start + np.flatnonzero(filled), RunValues.of(logs, known, logs, known.astype(float))


def _chance(gain: float, scatter: float, length: int) -> float:
    """Return the chance that the best split of an unchanged series takes away so much."""
    t = math.sqrt(gain * (length - 2) / scatter) if scatter > 0 else math.inf
    return min(1.0, 2 * max(t_cdf(-t, length - 2), 0.0) * (length - MIN_LENGTH + 1))


def _critical_squares(low: int, high: int) -> Floats:
    """Return the squared t at the lengths `low` to `high` beyond which a split is an alert."""
    return np.array([_critical(length) for length in range(low, high + 1)]) ** 2


@lru_cache(maxsize=20_000)
def _critical(length: int) -> float:
    return t_quantile(1 - ALPHA / 2 / (length - MIN_LENGTH + 1), length - 2)

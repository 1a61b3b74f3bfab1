"""Level shifts of a time or a cost, and whether any level that fell is back.

A shift is told by the two-sample t of the best split of the runs. A run is one draw, whatever its
cases: they share the server, so the runs scatter by more than their cases explain, and by how much
only the runs themselves tell. Six of them are enough to see that a time has become a hundred times
as long; ranks are not, since of ranks there are few.

A level is back, of a rate too, when the last seven runs since the break, at least four, are near
the level before and not shown to be lower. Four keep a lucky night from healing anything; seven
keep an old drop from being averaged away. The cases are fixed, so only their trials vary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from analyze.stats.changepoints import scan
from analyze.stats.changepoints.rates import RunValues
from analyze.stats.paired_means import t_cdf, t_quantile

ALPHA = 5e-4
"""Chance of a false alert in one look: with 1e-4 a doubled time after four nights is told within
four more in seven of ten histories, with this in more than nine."""

MAX_WINDOW_RUNS = 7
MIN_WINDOW_RUNS = 4

Z_ONE_SIDED = NormalDist().inv_cdf(0.95)
"""95 % quantile of the standard normal distribution."""


def scan_values(
    hashes: ArrayLike,
    log_values: ArrayLike,
    counts: ArrayLike,
    coverage: ArrayLike,
    *,
    ratio_margin: float,
) -> scan.Scan:
    """Return the level shifts of a time or a cost of one series.

    The value of a run is the mean over its cases of ln less the mean ln of the case over the
    prefix, plus the mean of all of these (`RunValues`). The split that leaves the least square
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
    points = scan.find_points(planned, coverage, known)
    known = known[points] & (planned[points] >= 0)
    track = _Values(np.where(known, values[points], 0.0), known, ratio_margin)
    return scan.scan_series(points, planned[points], track)


@dataclass(frozen=True, slots=True)
class _Values:
    """Logarithms of the runs that are points, 0 where there is none."""

    logs: scan.Floats
    known: scan.Bools
    ratio_margin: float

    def first_alert(self, start: int, end: int, cases: scan.Bools, fresh: int) -> scan.Alert | None:
        """See `Track`."""
        rows, values = self._values(start, end, cases)
        first = max(scan.MIN_LENGTH, int(np.searchsorted(rows, fresh)) + 1)
        if len(rows) < first:
            return None
        for low, high in scan.blocks(first, len(rows)):
            lengths = np.arange(low, high + 1)
            partial, squares = values.sums(low, high)
            gain, k = scan.best_splits(partial, low, high)
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
                    and scan.both_hold(old, new)
                    and self.levels(start, at, seen + 1, cases) is not None
                ):
                    return scan.Alert(
                        at=at,
                        seen=seen,
                        p=_chance(float(gain[hit]), float(scatter[hit]), length),
                        direction="up" if ratio > 1 else "down",
                    )
        return None

    def levels(self, start: int, at: int, end: int, cases: scan.Bools) -> scan.Levels | None:
        """See `Track`; on the cases that have values of both levels."""
        known = self.known[start:end]
        cases = cases & known[: at - start].any(axis=0) & known[at - start :].any(axis=0)
        rows, values = self._values(start, end, cases)
        split, length = int(np.searchsorted(rows, at)), len(rows)
        if min(split, length - split) < scan.MIN_RUNS:
            return None
        found = values.at(length)
        old, new = found[:split], found[split:]
        before, after = float(old.mean()), float(new.mean())
        scatter = float(np.square(old - before).sum() + np.square(new - after).sum())
        error = math.sqrt(scatter / (length - 2) * (1 / split + 1 / (length - split)))
        half = t_quantile(0.975, length - 2) * error
        return scan.Levels(
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
        return math.log1p(self.ratio_margin) - scan.BLUR

    def _values(self, start: int, end: int, cases: scan.Bools) -> tuple[scan.Ints, RunValues]:
        """Return the rows in which any of the cases has a value, and the value of each."""
        rows, known, logs = scan.filled(cases, self.known[start:end], self.logs[start:end])
        return start + rows, RunValues.of(logs, known, logs, known.astype(float))


def _chance(gain: float, scatter: float, length: int) -> float:
    """Return the chance that the best split of an unchanged series takes away so much."""
    t = math.sqrt(gain * (length - 2) / scatter) if scatter > 0 else math.inf
    return min(1.0, 2 * max(t_cdf(-t, length - 2), 0.0) * (length - scan.MIN_LENGTH + 1))


def _critical_squares(low: int, high: int) -> scan.Floats:
    """Return the squared t at the lengths `low` to `high` beyond which a split is an alert."""
    return np.array([_critical(length) for length in range(low, high + 1)]) ** 2


@lru_cache(maxsize=20_000)
def _critical(length: int) -> float:
    return t_quantile(1 - ALPHA / 2 / (length - scan.MIN_LENGTH + 1), length - 2)


@dataclass(frozen=True, slots=True)
class Change:
    """A level beside the one before, over the cases that both have; nan where there is none.

    Attributes:
        before: mean over cases of the rate, or of the logarithm.
        change: newer level less the one before.
        error: standard error of the change for these very cases; of rates only, else 0.
    """

    before: scan.Floats
    change: scan.Floats
    error: scan.Floats


def change_of_rates(
    passed_before: ArrayLike, scored_before: ArrayLike, passed: ArrayLike, scored: ArrayLike
) -> Change:
    """Return what changed in the mean over cases of the pooled pass rate.

    Trials of a level are pooled within each case. The variance of the change is
    sum(q (1 - q) N / (N - 1) (1 / N_before + 1 / N_after)) / n^2 over the n cases that have trials
    on both sides, with q the rate of a case over its N trials of both: were nothing different, they
    would be of one rate.

    Args:
        passed_before: cases; trials of the level before that passed.
        scored_before: cases; trials of the level before with a verdict.
        passed: ... x cases; the same of the newer level.
        scored: ... x cases.
    """
    k0, m0 = np.asarray(passed_before, float), np.asarray(scored_before, float)
    k1, m1 = np.asarray(passed, float), np.asarray(scored, float)
    both = (m0 > 0) & (m1 > 0)
    n_cases = _or_nan(both.sum(axis=-1))
    old = np.where(both, k0 / np.maximum(m0, 1), 0.0)
    new = np.where(both, k1 / np.maximum(m1, 1), 0.0)
    trials = np.where(both, m0 + m1, 2.0)
    q = np.where(both, (k0 + k1) / trials, 0.0)
    within = q * (1 - q) * trials / (trials - 1)
    shares = 1 / np.maximum(m0, 1) + 1 / np.maximum(m1, 1)
    variance = (within * shares).sum(axis=-1) / n_cases**2
    return Change(
        before=old.sum(axis=-1) / n_cases,
        change=(new - old).sum(axis=-1) / n_cases,
        error=np.sqrt(variance),
    )


def change_of_values(logs_before: ArrayLike, logs: ArrayLike) -> Change:
    """Return what changed in the mean over cases of a logarithm.

    Args:
        logs_before: cases; mean over the runs of the level before, nan where there is none.
        logs: ... x cases; the same of the newer level.
    """
    old, new = np.asarray(logs_before, float), np.asarray(logs, float)
    both = np.isfinite(old) & np.isfinite(new)
    n_cases = _or_nan(both.sum(axis=-1))
    before = np.where(both, old, 0.0).sum(axis=-1) / n_cases
    change = np.where(both, new - old, 0.0).sum(axis=-1) / n_cases
    return Change(before, change, np.zeros_like(change))


def rate_is_back(
    passed_before: ArrayLike,
    scored_before: ArrayLike,
    passed: ArrayLike,
    scored: ArrayLike,
    *,
    margin: float,
) -> scan.Bools:
    """Return after which runs since a drop the pass rate was back.

    Back: the last seven runs, at least four, lie at most half the margin below the level before,
    and are not lower at one-sided 5 %.

    Args:
        passed_before: cases; trials of the level before that passed.
        scored_before: cases; trials of the level before with a verdict.
        passed: runs x cases, the first run of the new level first.
        scored: runs x cases.
        margin: 0.05 for 5 points.
    """
    found = change_of_rates(passed_before, scored_before, _last_sums(passed), _last_sums(scored))
    near = found.change >= -margin / 2 - scan.BLUR
    return _from_fewest(near & (found.change >= -Z_ONE_SIDED * found.error - scan.BLUR))


def value_is_back(logs_before: ArrayLike, logs: ArrayLike, *, ratio_margin: float) -> scan.Bools:
    """Return after which runs since a rise a time or a cost was back.

    Back: over the last seven runs, at least four, the ratio to the level before is at most
    1 + half the margin.

    Args:
        logs_before: cases; mean over the runs of the level before, nan where there is none.
        logs: runs x cases, the first run of the new level first; nan where there is no value.
        ratio_margin: 0.1 for ratios of 0.90 to 1.10.
    """
    change = change_of_values(logs_before, last_means(logs)).change
    return _from_fewest(change <= math.log1p(ratio_margin / 2) + scan.BLUR)


def last_means(logs: ArrayLike) -> scan.Floats:
    """Return for each run the mean of each case over the last seven; nan where there is none.

    Args:
        logs: runs x cases; nan where there is no value.
    """
    values = np.asarray(logs, float)
    known = np.isfinite(values)
    means: scan.Floats = _last_sums(np.where(known, values, 0.0)) / _or_nan(_last_sums(known))
    return means


def _last_sums(matrix: ArrayLike) -> scan.Floats:
    """Return for each row the sum of it and up to six before it."""
    sums: scan.Floats = np.asarray(matrix, float).cumsum(axis=0)
    sums[MAX_WINDOW_RUNS:] -= sums[:-MAX_WINDOW_RUNS].copy()
    return sums


def _from_fewest(holds: scan.Bools) -> scan.Bools:
    """Return where it holds with runs enough behind it."""
    enough = np.arange(1, len(holds) + 1) >= MIN_WINDOW_RUNS
    return holds & enough


def _or_nan(counts: ArrayLike) -> scan.Floats:
    """Return counts to divide by; nothing divided by nothing is nan, without a warning."""
    numbers = np.asarray(counts, float)
    return np.where(numbers > 0, numbers, np.nan)

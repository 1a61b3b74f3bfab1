"""Level shifts of a pass rate: the scan over the mean of case means of each run.

The cases are fixed, the same ones night after night, so only their trials vary: the variance of a
run is that of its trials within cases. It is estimated over the whole prefix, and made larger where
the runs differ by more than their trials explain. Where cases are in clusters, runs x cases become
runs x units first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analyze.stats.changepoints import scan
from analyze.stats.intervals import Z95, Clusters, unit_places

ALPHA = 0.001
"""Chance of a false alert in one look; a history is looked at every night."""

BREAK_PARAMETERS = 5
"""Degrees of freedom that two levels and the break between them take of the scatter: the break
counts three, as in the information criterion of Ninomiya 2015."""

UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class RunValues:
    """The values of a series at each of its lengths.

    Cases differ far more than runs do, so a mean over the cases of a run moves whenever a hard case
    enters or leaves, or has no value that night. Each case is therefore held against its own level:

        x[t] = mean over the cases of run t of (y[t, i] - level[i]) + mean of all levels

    which is the plain mean over cases where every run has every case. It is the first step of
    fitting runs + cases by least squares, so a case that is only ever on one side of a break says
    nothing of it. Levels are those of the prefix that is looked at: at every length the values are
    other ones.

    Attributes:
        means: of each run, the mean over the cases that it has.
        shares: runs x cases: 1 over the number of cases of the run, 0 for a case that it has not;
            None when every run has every case, and levels play no part.
        levels: lengths x cases: level of a case over so many runs, less the mean of all levels;
            0 for a case that no run has yet.
    """

    means: scan.Floats
    shares: scan.Floats | None
    levels: scan.Floats

    @classmethod
    def of(
        cls, values: scan.Floats, present: scan.Bools, totals: scan.Floats, weights: scan.Floats
    ) -> RunValues:
        """Return them for runs x cases; each run has a case.

        Args:
            values: of a case in a run; 0 where it has none.
            present: whether it has one.
            totals: what the level of a case is pooled from: sum of `totals` over sum of `weights`.
            weights: of a case in a run; 0 where it has no value.
        """
        n_cases = present.sum(axis=1)
        means = values.sum(axis=1) / n_cases
        if present.all():
            return cls(means, None, np.zeros((0, 0)))
        amounts = weights.cumsum(axis=0)
        known = amounts > 0
        levels = totals.cumsum(axis=0) / np.where(known, amounts, 1)
        overall = levels.sum(axis=1) / known.sum(axis=1)
        levels = np.where(known, levels - overall[:, None], 0.0)
        return cls(means, present / n_cases[:, None], levels)

    def at(self, length: int) -> scan.Floats:
        """Return the values of the first `length` runs, when these are all there is."""
        means = self.means[:length]
        if self.shares is None:
            return means
        found: scan.Floats = means - self.shares[:length] @ self.levels[length - 1]
        return found

    def sums(self, low: int, high: int) -> tuple[scan.Floats, scan.Floats]:
        """Return the partial sums and the scatter of the lengths `low` to `high`.

        Returns:
            For each length the sums of the first k values less their mean over the whole length,
            a column each k of `split_places`; and the sum of the squares of the values less that
            mean.
        """
        lengths = np.arange(low, high + 1)
        places = scan.split_places(high)
        if self.shares is None:
            centred = self.means[:high] - self.means[0]
            sums, squares = centred.cumsum(), (centred * centred).cumsum()
            whole = sums[low - 1 : high]
            mean = whole / lengths
            return sums[places - 1] - mean[:, None] * places, squares[low - 1 : high] - mean * whole
        values = self.means[:high] - self.levels[low - 1 : high] @ self.shares[:high].T
        inside = np.arange(high) < lengths[:, None]
        values -= (values.sum(axis=1, where=inside) / lengths)[:, None]
        values *= inside
        return values.cumsum(axis=1)[:, places - 1], (values * values).sum(axis=1)


def scan_rate(
    hashes: ArrayLike, k: ArrayLike, m: ArrayLike, coverage: ArrayLike, *, margin: float
) -> scan.Scan:
    """Return the level shifts of the pass rate of one series.

    The value of a run is the mean over its cases of k/m - q plus the mean of q over all cases, with
    q the pass rate of a case over the prefix (`RunValues`). Its variance is the mean over runs of
    sum(q (1 - q) N / (N - 1) / m) / n^2, with N the trials of a case over the prefix, m its trials
    in the run and n the cases of the run; the standard deviation is at least 1 / (4 m n), and the
    variance at least what the runs scatter around the two best levels (`free_runs`). An alert
    needs a tail below 0.001 (`scan_tail`), a step of at least the margin, and two levels that hold
    (`both_hold`). Runs with few trials of their own next to a break make its step less sure.

    Args:
        hashes: runs x cases, oldest run first: a number for the version of the case that was
            planned, -1 where it was not.
        k: runs x cases: independent trials that passed.
        m: runs x cases: independent trials that have a verdict; a run without any is no point.
        coverage: of each run, the share of its trials with a verdict; below 0.9 it is no point.
        margin: smallest step worth an alert, 0.05 for 5 points.

    Raises:
        ValueError: the arrays do not describe the same runs and cases.
    """
    planned = np.asarray(hashes)
    points = scan.find_points(hashes, coverage, np.asarray(m) > 0, k)
    planned = planned[points]
    scored = np.where(planned >= 0, np.asarray(m)[points], 0).astype(float)
    passed = np.where(planned >= 0, np.asarray(k)[points], 0).astype(float)
    return scan.scan_series(points, planned, _Rates(passed, scored, margin))


@dataclass(frozen=True, slots=True)
class _Rates:
    """Counts of the runs that are points."""

    passed: scan.Floats
    scored: scan.Floats
    margin: float

    def first_alert(self, start: int, end: int, cases: scan.Bools, fresh: int) -> scan.Alert | None:
        """See `Track`."""
        rows, passed, scored = self._counts(start, end, cases)
        first = max(scan.MIN_LENGTH, int(np.searchsorted(rows, fresh)) + 1)
        if len(rows) < first:
            return None
        values = _values(passed, scored)
        variance = _variance(passed, scored)
        for low, high in scan.blocks(first, len(rows)):
            lengths = np.arange(low, high + 1)
            partial, squares = values.sums(low, high)
            gain, k = scan.best_splits(partial, low, high)
            noise = _dispersed(variance[low - 1 : high], squares - gain, lengths)
            b = np.sqrt(gain / noise)
            step = np.sqrt(gain * lengths / (k * (lengths - k)))
            for hit in scan.surprising(np.where(step >= self.margin - scan.BLUR, b, 0), low, ALPHA):
                split, length = int(k[hit]), int(lengths[hit])
                found = values.at(length)
                old, new = found[:split], found[split:]
                unequal = _unequal(scored[:length], split)
                p = scan.scan_tail(float(b[hit]) / math.sqrt(max(1.0, unequal)), length)
                at, seen = int(rows[split]), int(rows[length - 1])
                if (
                    p < ALPHA
                    and scan.both_hold(old, new)
                    and self.levels(start, at, seen + 1, cases) is not None
                ):
                    return scan.Alert(
                        at=at, seen=seen, p=p, direction="up" if old.mean() < new.mean() else "down"
                    )
        return None

    def levels(self, start: int, at: int, end: int, cases: scan.Bools) -> scan.Levels | None:
        """See `Track`; on the cases that have trials of both levels."""
        asked = self.scored[start:end] > 0
        cases = cases & asked[: at - start].any(axis=0) & asked[at - start :].any(axis=0)
        rows, passed, scored = self._counts(start, end, cases)
        split, length = int(np.searchsorted(rows, at)), len(rows)
        if min(split, length - split) < scan.MIN_RUNS:
            return None
        values = _values(passed, scored).at(length)
        old, new = values[:split], values[split:]
        before, after = (min(max(float(one.mean()), 0.0), 1.0) for one in (old, new))
        scatter = np.square(old - old.mean()).sum() + np.square(new - new.mean()).sum()
        last = slice(length - 1, length)
        noise = _dispersed(_variance(passed, scored)[last], scatter, np.array([length]))
        unequal = _unequal(scored, split)
        half = Z95 * math.sqrt(float(noise[0]) * unequal * (1 / split + 1 / (length - split)))
        return scan.Levels(
            before=before,
            after=after,
            size=after - before,
            low=max(after - before - half, -1.0),
            high=min(after - before + half, 1.0),
            n_before=split,
            n_after=length - split,
            last_before=int(rows[split - 1]),
        )

    def _counts(
        self, start: int, end: int, cases: scan.Bools
    ) -> tuple[scan.Ints, scan.Floats, scan.Floats]:
        """Return the rows in which any of the cases has a verdict, and the counts there."""
        rows, scored, passed = scan.filled(cases, self.scored[start:end], self.passed[start:end])
        return start + rows, passed, scored


def _values(passed: scan.Floats, scored: scan.Floats) -> RunValues:
    """Return the values of runs; the level of a case is its pass rate over the prefix."""
    return RunValues.of(passed / np.maximum(scored, 1), scored > 0, passed, scored)


def _variance(passed: scan.Floats, scored: scan.Floats) -> scan.Floats:
    """Return the mean variance of the values of the runs, as estimated from each prefix."""
    passes, trials = passed.cumsum(axis=0), scored.cumsum(axis=0)
    pairs = np.maximum(trials * (trials - 1), 1)
    weights = _weights(scored).cumsum(axis=0)
    lengths = np.arange(1, len(trials) + 1)
    within = (passes * (trials - passes) / pairs * weights).sum(axis=1) / lengths
    floor = weights.sum(axis=1) / lengths / 4
    variance: scan.Floats = np.maximum(within, floor * floor)
    return variance


def _weights(scored: scan.Floats) -> scan.Floats:
    """Return by what the variance of a trial of each case counts in the value of each run."""
    asked = scored > 0
    n_cases = asked.sum(axis=1, keepdims=True)
    weights: scan.Floats = asked / (np.maximum(scored, 1) * n_cases * n_cases)
    return weights


def _unequal(scored: scan.Floats, split: int) -> float:
    """Return the variance of the step over what it would be if all runs had as many trials."""
    runs = _weights(scored).sum(axis=1)
    n_before, n_after = split, len(runs) - split
    sure = runs.mean() * (1 / n_before + 1 / n_after)
    return float((runs[:split].mean() / n_before + runs[split:].mean() / n_after) / sure)


def free_runs(lengths: scan.Ints) -> scan.Floats:
    """Return max(T - 5, 2T/3), by which the square error of the best split becomes a variance.

    The split is chosen for its small error: divided by T - 2, restless nights would look calmer
    than they are and their waves like shifts. Of unchanged normal runs it is on average 4.0, 5.3,
    8.6, 16, 35 and 55 variances at T = 6, 8, 12, 20, 40 and 60; this is as much, or up to an eighth
    less. In the limit a break takes three degrees of freedom (Ninomiya 2015, Change-point model
    selection via AIC); at T = 6 there is only one split, and it takes none.

    Args:
        lengths: values of a series, T; at least six.
    """
    free: scan.Floats = np.maximum(lengths - BREAK_PARAMETERS, lengths * (2 / 3))
    return free


def _dispersed(variance: scan.Floats, scatter: scan.Floats, lengths: scan.Ints) -> scan.Floats:
    """Return the variance, or where it is larger what the runs scatter around their two levels."""
    larger: scan.Floats = np.maximum(variance, scatter / free_runs(lengths))
    return larger


def unit_columns(
    clusters: Clusters, hashes: scan.Ints, *counts: scan.Ints
) -> tuple[scan.Ints, ...]:
    """Return the hashes and counts of units: a column each, in the order of their first cases.

    A unit has the sums of the counts of its cases, and a hash made of those of the cases that a run
    planned: another version of one of them, or one more, is another version of the unit. A case
    that stands alone keeps its column as it is.

    Args:
        clusters: of each case.
        hashes: runs x cases: a number for the version of a case, -1 where it was not planned.
        counts: each runs x cases.
    """
    if not any(clusters):
        return hashes, *counts
    places = np.array(unit_places(clusters))
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))

    def summed(columns: NDArray[Any]) -> NDArray[Any]:
        return np.add.reduceat(columns[:, order], starts, axis=1)

    is_known = hashes != UNKNOWN
    together = (summed(_mixed(hashes) * is_known) >> np.uint64(1)).astype(np.int64)
    together[summed(is_known.astype(np.int64)) == 0] = UNKNOWN
    is_alone = np.bincount(places) == 1
    together[:, is_alone] = hashes[:, order[starts]][:, is_alone]
    return together, *(summed(columns) for columns in counts)


def _mixed(hashes: scan.Ints) -> NDArray[np.uint64]:
    """Return a number of 64 bits for each case and its version, whose sums say which they were.

    The finalizer of splitmix64 (Steele, Lea & Flood 2014).
    """
    column = np.arange(1, hashes.shape[1] + 1, dtype=np.uint64)
    x: NDArray[np.uint64] = np.add(hashes.astype(np.uint64), column * np.uint64(0x9E3779B97F4A7C15))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))

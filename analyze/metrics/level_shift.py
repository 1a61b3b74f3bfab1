"""Level shifts of a pass rate: the scan over the mean of case means of each run.

The cases are fixed, the same ones night after night, so only their trials vary: the variance of a
run is that of its trials within cases. It is estimated over the whole prefix, and made larger where
the runs differ by more than their trials explain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analyze.metrics.intervals import Z95
from analyze.metrics.series_scan import (
    Alert,
    Bools,
    Levels,
    Scan,
    find_points,
    scan_series,
)
from analyze.metrics.split_scan import (
    BLUR,
    MIN_LENGTH,
    MIN_RUNS,
    Floats,
    Ints,
    best_splits,
    blocks,
    both_hold,
    scan_tail,
    split_places,
    surprising,
)

ALPHA = 0.001
"""Chance of a false alert in one look; a history is looked at every night."""

DISPERSION_FROM = 8
"""Runs from which the scatter of the runs around their levels is worth an estimate."""


def scan_rate(
    hashes: ArrayLike, k: ArrayLike, m: ArrayLike, coverage: ArrayLike, *, margin: float
) -> Scan:
    """Return the level shifts of the pass rate of one series.

    The value of a run is the mean of k/m over the cases that every run of the segment planned with
    one hash. Its variance is sum(q (1 - q) N / (N - 1)) / m / n^2, with q the pass rate of a case
    over the prefix, N its trials, m the mean number of trials per case and run and n the cases; the
    standard deviation is at least 1 / (4 m n), and from eight runs on the variance at least what
    the runs scatter around the two best levels. An alert needs a tail below 0.001 (`scan_tail`), a
    step of at least the margin, and two levels that hold (`both_hold`).

    Args:
        hashes: runs x cases, oldest run first: a number for the version of the case that was
            planned, -1 where it was not.
        k: runs x cases: trials that passed.
        m: runs x cases: trials that have a verdict.
        coverage: of each run, the share of its trials with a verdict; below 0.9 it is no point.
        margin: smallest step worth an alert, 0.05 for 5 points.

    Raises:
        ValueError: the arrays do not describe the same runs and cases.
    """
    points = find_points(hashes, coverage, k, m)
    track = _Rates.of(np.asarray(k)[points], np.asarray(m)[points], margin)
    return scan_series(points, np.asarray(hashes)[points], track)


@dataclass(frozen=True, slots=True)
class _Rates:
    """Counts of the runs that are points."""

    passed: Floats
    scored: Floats
    margin: float

    @classmethod
    def of(cls, k: Ints, m: Ints, margin: float) -> _Rates:
        return cls(k.astype(float), m.astype(float), margin)

    def first_alert(self, start: int, end: int, cases: Bools, fresh: int) -> Alert | None:
        """See `Track`."""
        rows, passed, scored = self._counts(start, end, cases)
        first = max(MIN_LENGTH, int(np.searchsorted(rows, fresh)) + 1)
        if len(rows) < first:
            return None
        rates = _case_means(passed, scored)
        variance = _variance(passed, scored)
        sums, squares = rates.cumsum(), (rates * rates).cumsum()
        for low, high in blocks(first, len(rows)):
            lengths = np.arange(low, high + 1)
            means = sums[low - 1 : high] / lengths
            places = split_places(high)
            gain, k = best_splits(sums[places - 1] - means[:, None] * places, low, high)
            scatter = squares[low - 1 : high] - means * sums[low - 1 : high] - gain
            noise = _dispersed(variance[low - 1 : high], scatter, lengths)
            b = np.sqrt(gain / noise)
            step = np.sqrt(gain * lengths / (k * (lengths - k)))
            for hit in surprising(np.where(step >= self.margin - BLUR, b, 0), low, ALPHA):
                split, length = int(k[hit]), int(lengths[hit])
                old, new = rates[:split], rates[split:length]
                if both_hold(old, new):
                    return Alert(
                        at=int(rows[split]),
                        seen=int(rows[length - 1]),
                        p=scan_tail(float(b[hit]), length),
                        direction="up" if old.mean() < new.mean() else "down",
                    )
        return None

    def levels(self, start: int, at: int, end: int, cases: Bools) -> Levels | None:
        """See `Track`."""
        rows, passed, scored = self._counts(start, end, cases)
        split, length = int(np.searchsorted(rows, at)), len(rows)
        if min(split, length - split) < MIN_RUNS:
            return None
        rates = _case_means(passed, scored)
        old, new = rates[:split], rates[split:]
        before, after = float(old.mean()), float(new.mean())
        scatter = np.square(old - before).sum() + np.square(new - after).sum()
        last = slice(length - 1, length)
        noise = _dispersed(_variance(passed, scored)[last], scatter, np.array([length]))
        half = Z95 * math.sqrt(float(noise[0]) * (1 / split + 1 / (length - split)))
        return Levels(
            before=before,
            after=after,
            size=after - before,
            low=max(after - before - half, -1.0),
            high=min(after - before + half, 1.0),
            n_before=split,
            n_after=length - split,
            last_before=int(rows[split - 1]),
        )

    def _counts(self, start: int, end: int, cases: Bools) -> tuple[Ints, Floats, Floats]:
        """Return the rows in which any of the cases has a verdict, and the counts there."""
        passed, scored = self.passed[start:end], self.scored[start:end]
        if not cases.all():
            passed, scored = passed.compress(cases, axis=1), scored.compress(cases, axis=1)
        filled = scored.any(axis=1)
        if not filled.all():
            passed, scored = passed[filled], scored[filled]
        return start + np.flatnonzero(filled), passed, scored


def _case_means(passed: Floats, scored: Floats) -> Floats:
    """Return the mean over cases of passed / scored for each run."""
    rates: Floats = (passed / np.maximum(scored, 1)).sum(axis=1) / (scored > 0).sum(axis=1)
    return rates


def _variance(passed: Floats, scored: Floats) -> Floats:
    """Return the variance of the value of a run, as estimated from each prefix."""
    passes, trials = passed.cumsum(axis=0), scored.cumsum(axis=0)
    pairs = np.maximum(trials * (trials - 1), 1)
    within = (passes * (trials - passes) / pairs).sum(axis=1)
    n_trials, n_cases = trials.sum(axis=1), (trials > 0).sum(axis=1)
    lengths = np.arange(1, len(trials) + 1)
    floor = lengths / (4 * n_trials)
    variance: Floats = np.maximum(within * lengths / (n_trials * n_cases), floor * floor)
    return variance


def _dispersed(variance: Floats, scatter: Floats, lengths: Ints) -> Floats:
    """Return the variance, or where it is larger what the runs scatter around their two levels."""
    long = lengths >= DISPERSION_FROM
    seen = np.where(long, scatter / (lengths - 2), 0.0)
    return np.maximum(variance, seen)

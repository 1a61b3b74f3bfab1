"""Level shifts of a time or a cost: the scan over the ranks of the runs.

Times have spikes and no known variance; the ranks of n runs have both under control, so a single
bad night moves nothing. Lausen & Schumacher 1992 for maximally selected rank statistics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analyze.metrics.series_scan import (
    Alert,
    Bools,
    Levels,
    Scan,
    find_points,
    scan_series,
)
from analyze.metrics.split_scan import (
    MIN_LENGTH,
    MIN_RUNS,
    Floats,
    Ints,
    best_splits,
    blocks,
    both_hold,
    scan_tail,
    surprising,
)
from analyze.metrics.student import t_quantile

ALPHA = 0.01
"""Chance of a false alert in one look."""


def scan_values(
    hashes: ArrayLike,
    log_values: ArrayLike,
    counts: ArrayLike,
    coverage: ArrayLike,
    *,
    ratio_margin: float,
) -> Scan:
    """Return the level shifts of a time or a cost of one series.

    The value of a run is the mean of ln over the cases that every run of the segment planned with
    one hash and that have a value. The best split of the ranks of these values counts, with the
    standard deviation sqrt(T (T + 1) / 12) of a rank. An alert needs a tail below 0.01
    (`scan_tail`), a ratio of the two levels outside 1 - margin to 1 + margin, and two levels that
    hold (`both_hold`).

    Args:
        hashes: runs x cases, oldest run first: a number for the version of the case that was
            planned, -1 where it was not.
        log_values: runs x cases: mean of ln of the values of a case; nan where there is none.
        counts: runs x cases: values behind that mean.
        coverage: of each run, the share of its trials with a verdict; below 0.9 it is no point.
        ratio_margin: 0.1 for the ratios 0.90 to 1.10, which are no alert.

    Raises:
        ValueError: the arrays do not describe the same runs and cases.
    """
    points = find_points(hashes, coverage, log_values, counts)
    values = np.asarray(log_values, dtype=float)[points]
    known = (np.asarray(counts)[points] > 0) & np.isfinite(values)
    track = _Values(np.where(known, values, 0.0), known, ratio_margin)
    return scan_series(points, np.asarray(hashes)[points], track)


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
        for low, high, sums in _rank_sums(values, first):
            gain, k = best_splits(sums, low, high)
            lengths = np.arange(low, high + 1)
            b = np.sqrt(gain * 12 / (lengths * (lengths + 1)))
            for hit in surprising(b, low, ALPHA):
                split, length = int(k[hit]), int(lengths[hit])
                old, new = values[:split], values[split:length]
                ratio = math.exp(float(new.mean()) - float(old.mean()))
                inside = 1 - self.ratio_margin <= ratio <= 1 + self.ratio_margin
                if not inside and both_hold(old, new):
                    return Alert(
                        at=int(rows[split]),
                        seen=int(rows[length - 1]),
                        p=scan_tail(float(b[hit]), length),
                        direction="up" if ratio > 1 else "down",
                    )
        return None

    def levels(self, start: int, at: int, end: int, cases: Bools) -> Levels | None:
        """See `Track`."""
        rows, values = self._values(start, end, cases)
        split, length = int(np.searchsorted(rows, at)), len(rows)
        if min(split, length - split) < MIN_RUNS:
            return None
        old, new = values[:split], values[split:]
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

    def _values(self, start: int, end: int, cases: Bools) -> tuple[Ints, Floats]:
        """Return the rows in which any of the cases has a value, and the value of each."""
        logs, known = self.logs[start:end], self.known[start:end]
        if not cases.all():
            logs, known = logs.compress(cases, axis=1), known.compress(cases, axis=1)
        n_known = known.sum(axis=1)
        filled = np.flatnonzero(n_known)
        return start + filled, logs.sum(axis=1)[filled] / n_known[filled]


def _rank_sums(values: Floats, first: int) -> Iterator[tuple[int, int, Floats]]:
    """Yield sums of ranks less the mean rank from length `first` on, a block of lengths at a time.

    Of each block its least and its largest length, and a matrix: rows are lengths, columns the
    splits of the largest. A rank less the mean rank is half the number of values of the prefix
    below it less half the number above it, so ties get mid-ranks; all of it in whole numbers. What
    a value has counted in one block goes on in the next.
    """
    counted, earlier, n_earlier = np.zeros(0, np.int64), np.zeros(0), 0
    for low, high in blocks(first, len(values)):
        columns, rows = values[: high - MIN_RUNS], values[low - 1 : high, None]
        earlier = np.append(earlier, values[n_earlier : low - 1])
        earlier.sort(kind="stable")
        n_earlier = low - 1
        new = columns[len(counted) :]
        below = earlier.searchsorted(new, "left") + earlier.searchsorted(new, "right") - n_earlier
        signs = (columns > rows).view(np.int8) - (columns < rows).view(np.int8)
        ranks = signs.cumsum(axis=0, dtype=np.int64) + np.append(counted, below)
        counted = ranks[-1]
        yield low, high, ranks.cumsum(axis=1)[:, MIN_RUNS - 1 :] / 2

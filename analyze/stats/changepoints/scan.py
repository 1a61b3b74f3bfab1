"""One history of a series as levels: segments of the same cases, and the breaks between them.

The history is read as if it were tested after every run, and it starts anew at the first run of a
new level. What a later run adds can lengthen the last level or end it; it never moves an alert that
was raised before, so (series, first run, direction) names it for good. Runs that lost too many
trials are no points. A run that shares too few cases with its segment starts another one ("suite
changed"), which is no alert.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MIN_RUNS = 3
"""Fewest runs on either side of a break: two could be chance, three confirm it."""

MIN_LENGTH = 2 * MIN_RUNS
"""Shortest series that has a split."""

BLOCK = 1 << 17
"""Cells of a matrix that is scanned at once: 1 MB of floats."""

BLUR = 1e-12
"""What rounding may add to a mean or take from it: closer than this is the same."""

LEAST, MOST = 2.0, 40.0
"""Between these statistics the tail falls from far above any alpha in use to below the least float
that counts."""

Bools = NDArray[np.bool_]
Known = TypeVar("Known", np.float64, np.bool_)
Direction = Literal["up", "down"]
Cause = Literal["start", "suite_changed", "shift"]

MIN_COVERAGE = 0.9
"""Share of a run's trials with a verdict below which the run says nothing about a level."""

COMMON_FIFTHS = 4
"""Of five cases of a run, so many must be common to the segment: 80 %, in whole numbers."""


def scan_tail(b: float, length: int) -> float:
    """Return the chance that the best standardised split of an unchanged series reaches b.

    Miller & Siegmund 1982 for a maximally selected statistic whose splits leave a share of at
    least epsilon = 3/T on either side: phi(b) * ((b - 1/b) * 2 ln((1 - epsilon) / epsilon) + 4/b),
    with phi the normal density. Below b = 1 the formula means nothing, and the chance is 1.

    Args:
        b: the largest standardised difference between after and before.
        length: values in the series, T; at least six.
    """
    if b < 1:
        return 1.0
    epsilon = MIN_RUNS / length
    density = math.exp(-b * b / 2) / math.sqrt(2 * math.pi)
    odds = 2 * math.log((1 - epsilon) / epsilon)
    return min(1.0, density * ((b - 1 / b) * odds + 4 / b))


def surprising(b: Floats, first: int, alpha: float) -> list[int]:
    """Return the places at which the tail of the statistic is below alpha.

    Places are counted from the length `first`; alpha is the chance of a false alert in one look.
    """
    near = np.flatnonzero(b >= critical(alpha, first)).tolist()
    return [place for place in near if scan_tail(float(b[place]), first + place) < alpha]


@lru_cache(maxsize=20_000)
def critical(alpha: float, length: int) -> float:
    """Return the least b whose tail is below alpha; of a longer series it is larger."""
    low, high = LEAST, MOST
    while low < (middle := (low + high) / 2) < high:
        if scan_tail(middle, length) < alpha:
            high = middle
        else:
            low = middle
    return high


def blocks(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the lengths `first` to `last` as (first, last) of blocks of bounded size."""
    height = max(1, BLOCK // last)
    for start in range(first, last + 1, height):
        yield start, min(start + height - 1, last)


def best_splits(partial: Floats, first: int, last: int) -> tuple[Floats, Ints]:
    """Return the gain and the k of the best split at each of the lengths `first` to `last`.

    The gain is the square error that the split takes away: partial^2 * T / (k (T - k)), which is
    the squared difference of the two means over 1/k + 1/(T - k). Of equal splits the first counts.

    A series is looked at every night, so each prefix of it (its first T values) is scanned by
    itself, many of them at once: matrices of T rows by k columns, in blocks of bounded size. A
    split k puts k values before the break and T - k after it, with at least `MIN_RUNS` on either
    side; the best split is the one that leaves the least square error, which is binary segmentation
    by likelihood ratio.

    Args:
        partial: sums of the first k values less their mean over the whole prefix; a row each
            length, a column each k from `MIN_RUNS` to `last` - `MIN_RUNS`.
        first: length of the first row.
        last: length of the last row.
    """
    gain = partial * partial
    gain *= _weights(first, last)
    best = gain.max(axis=1)
    at = (gain >= best[:, None] * (1 - BLUR)).argmax(axis=1)
    return best, at + MIN_RUNS


@lru_cache(maxsize=32)
def _weights(first: int, last: int) -> Floats:
    """Return T / (k (T - k)), and 0 where fewer than `MIN_RUNS` values remain after k."""
    length = np.arange(first, last + 1, dtype=float)[:, None]
    k = split_places(last).astype(float)
    weights: Floats = length / (k * np.maximum(length - k, 1))
    partly = slice(max(first - 2 * MIN_RUNS + 1, 0), None)  # before it every k fits every length
    weights[:, partly][k[partly] > length - MIN_RUNS] = 0
    return weights


def split_places(last: int) -> Ints:
    """Return every k that a series of this length can be split at."""
    return np.arange(MIN_RUNS, last - MIN_RUNS + 1)


def both_hold(old: Floats, new: Floats) -> bool:
    """Return whether three runs, and most runs, of either level lie on its side of the middle.

    One bad night moves the mean of the three newest runs as far as a small lasting step does, and
    a break younger than three runs is first seen too early, where there is room for a split. Such
    a split is no pair of levels, however unlikely it is among unchanged runs.
    """
    before, after = float(old.mean()), float(new.mean())
    middle, sign = (before + after) / 2, 1 if after > before else -1
    sides = (old - middle) * -sign > BLUR, (new - middle) * sign > BLUR
    return all(int(side.sum()) >= max(MIN_RUNS, len(side) // 2 + 1) for side in sides)


@dataclass(frozen=True, slots=True)
class Segment:
    """Runs whose cases are the same, at one level; both ends are indices into the runs given."""

    first: int
    last: int
    cause: Cause
    """Why it begins."""


@dataclass(frozen=True, slots=True)
class LevelShift:
    """One break between two levels; runs are indices into the runs given."""

    at: int
    """First run of the new level."""
    last_before: int
    """Last run of the old level."""
    seen_at: int
    """The run after which it could first be told."""
    before: float
    after: float
    size: float
    """Of a rate the difference, of a time or cost the ratio, of the whole levels."""
    low: float
    high: float
    """95 % interval of the size, for these very cases."""
    p: float
    """When it was seen."""
    n_before: int
    n_after: int
    n_cases: int
    """Common to both levels."""
    direction: Direction
    """When it was seen: it stays, whatever later runs do to the size."""


@dataclass(frozen=True, slots=True)
class Scan:
    """A series in segments, oldest first, and the breaks among them that are shifts."""

    segments: tuple[Segment, ...]
    shifts: tuple[LevelShift, ...]


@dataclass(frozen=True, slots=True)
class Alert:
    """What a track finds in one segment; runs are rows of the track."""

    at: int
    seen: int
    p: float
    direction: Direction


@dataclass(frozen=True, slots=True)
class Levels:
    """Two levels, measured over whole segments on the cases that they have in common."""

    before: float
    after: float
    size: float
    low: float
    high: float
    n_before: int
    n_after: int
    last_before: int
    """Row of the track."""


class Track(Protocol):
    """What is measured in each run that is a point, a row each.

    Pass rates are one in `rates`, times and costs in `values`, each with its own statistic.
    """

    def first_alert(self, start: int, end: int, cases: Bools, fresh: int) -> Alert | None:
        """Return the first alert among the prefixes of rows `start` to `end` (exclusive).

        Args:
            start: first row of the segment.
            end: row after the longest prefix.
            cases: which cases count, where a row has them.
            fresh: prefixes that end before this row have been looked at already.
        """

    def levels(self, start: int, at: int, end: int, cases: Bools) -> Levels | None:
        """Return both levels of a break at row `at`, or None when one has fewer than three values.

        Args:
            start: first row of the level before.
            at: first row of the level after.
            end: row after the level after.
            cases: which cases count, where a row has them.
        """


def find_points(
    hashes: ArrayLike, coverage: ArrayLike, known: ArrayLike, *others: ArrayLike
) -> Ints:
    """Return the indices of the runs that count: covered well enough, with a value of their own.

    Args:
        hashes: runs x cases: which version of a case was planned; -1 where it was not.
        coverage: of each run, the share of its trials with a verdict.
        known: runs x cases: whether a case has a value.
        others: what else describes runs x cases.

    Raises:
        ValueError: the arrays do not describe the same runs and cases.
    """
    planned = np.asarray(hashes)
    shares = np.asarray(coverage, dtype=float)
    shapes = {np.shape(one) for one in (known, *others)} | {planned.shape}
    if len(shapes) > 1 or planned.ndim != 2 or shares.shape != planned.shape[:1]:
        message = f"expects runs x cases and a coverage each run, got {shapes}, {shares.shape}"
        raise ValueError(message)
    counts = (shares >= MIN_COVERAGE) & ((planned >= 0) & np.asarray(known)).any(axis=1)
    return np.flatnonzero(counts)


def filled(
    cases: Bools, known: NDArray[Known], values: Floats
) -> tuple[Ints, NDArray[Known], Floats]:
    """Return the rows in which any of the cases has a value, and both matrices there.

    They are runs x cases, `known` not 0 where there is a value, and lose the cases without any.
    """
    cases = cases & known.any(axis=0)
    if not cases.all():
        known, values = known.compress(cases, axis=1), values.compress(cases, axis=1)
    rows = known.any(axis=1)
    if not rows.all():
        known, values = known[rows], values[rows]
    return np.flatnonzero(rows), known, values


def scan_series(points: Ints, hashes: Ints, track: Track) -> Scan:
    """Return the levels of one series.

    Args:
        points: index of each row among the runs given.
        hashes: which version of a case was planned, a row each point; -1 where it was not.
        track: measures the same rows.
    """
    segments: list[Segment] = []
    breaks: list[tuple[int, Alert]] = []
    starts = [0]
    fresh = 0
    cause: Cause = "start"
    while (start := starts[-1]) < len(points):
        common = _common(hashes, start)
        end = start + _same_suite(hashes[start:] >= 0, common)
        alert = _first_alert(track, start, end, _one_version(hashes[start:end]), fresh)
        if alert is not None:
            breaks.append((len(segments), alert))
            end, fresh = alert.at, alert.seen
        segments.append(Segment(int(points[start]), int(points[end - 1]), cause))
        starts.append(end)
        cause = "suite_changed" if alert is None else "shift"
    shifts = tuple(
        _shift(points, hashes, track, alert, start=starts[place], end=starts[place + 2])
        for place, alert in breaks
    )
    return Scan(tuple(segments), shifts)


def _common(hashes: Ints, start: int) -> Bools:
    """Return which cases every row from `start` up to each row planned with one hash."""
    first = hashes[start]
    return np.logical_and.accumulate((hashes[start:] == first) & (first >= 0), axis=0)


def _same_suite(planned: Bools, common: Bools) -> int:
    """Return how many rows pass until one has too little in common with the segment's first."""
    n_planned, n_common = planned.sum(axis=1), common.sum(axis=1)
    most = np.maximum(n_planned, n_planned[0])
    changed = np.flatnonzero(5 * n_common < COMMON_FIFTHS * most)
    return int(changed[0]) if len(changed) else len(common)


def _one_version(hashes: Ints) -> Bools:
    """Return which cases no row up to each row planned in a second version.

    A case counts for as long as only one version of it was asked, also in a segment in which it is
    not planned every night: what it is held against is its own level, so a block of cases that
    enters or leaves shifts nothing.
    """
    newest = np.maximum.accumulate(hashes, axis=0)
    oldest = np.minimum.accumulate(np.where(hashes < 0, np.iinfo(np.int64).max, hashes), axis=0)
    return newest <= oldest


def _first_alert(track: Track, start: int, end: int, cases_at: Bools, fresh: int) -> Alert | None:
    """Return the first alert of a segment, prefixes in which the same cases count at a time."""
    shrinks = np.flatnonzero(np.diff(cases_at.sum(axis=1))) + 1
    bounds = [0, *shrinks.tolist(), end - start]
    for first, last in itertools.pairwise(bounds):
        if start + last > fresh:
            cases = cases_at[first]
            alert = track.first_alert(start, start + last, cases, max(fresh, start + first))
            if alert is not None:
                return alert
    return None


def _shift(
    points: Ints, hashes: Ints, track: Track, alert: Alert, *, start: int, end: int
) -> LevelShift:
    """Measure a break over its whole levels, or as it was seen where these share too little."""
    cases = _one_version(hashes[start:end])[-1]
    levels = track.levels(start, alert.at, end, cases)
    if levels is None:
        end = alert.seen + 1
        cases = _one_version(hashes[start:end])[-1]
        levels = track.levels(start, alert.at, end, cases)
    planned = hashes >= 0
    of_both = planned[start : alert.at].any(axis=0) & planned[alert.at : end].any(axis=0)
    assert levels is not None, "when it is seen, an alert has two levels"
    return LevelShift(
        at=int(points[alert.at]),
        last_before=int(points[levels.last_before]),
        seen_at=int(points[alert.seen]),
        before=levels.before,
        after=levels.after,
        size=levels.size,
        low=levels.low,
        high=levels.high,
        p=alert.p,
        n_before=levels.n_before,
        n_after=levels.n_after,
        n_cases=int((cases & of_both).sum()),
        direction=alert.direction,
    )

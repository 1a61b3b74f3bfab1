"""One history of a series as levels: segments of the same cases, and the breaks between them.

The history is read as if it were tested after every run, and it starts anew at the first run of a
new level. What a later run adds can lengthen the last level or end it; it never moves an alert
that was raised before, so (series, first run, direction) names it for good. Runs that lost too
many trials are no points. A run that shares too few cases with its segment starts another one
("suite changed"), which is no alert.

A case counts for as long as only one version of it was asked, also in a segment in which it is not
planned every night: what it is held against is its own level, so a block of cases that enters or
leaves shifts nothing.

What is measured in a run, and by which statistic, is a `Track`: pass rates in `level_shift`, times
and costs in `value_shift`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analyze.stats.split_scan import Ints

Bools = NDArray[np.bool_]
Direction = Literal["up", "down"]
Cause = Literal["start", "suite_changed", "shift"]

MIN_COVERAGE = 0.9
"""Share of a run's trials with a verdict below which the run says nothing about a level."""

COMMON_FIFTHS = 4
"""Of five cases of a run, so many must be common to the segment: 80 %, in whole numbers."""


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
    """What is measured in each run that is a point, a row each."""

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
    """Return which cases no row up to each row planned in a second version."""
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

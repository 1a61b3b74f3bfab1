"""Whether a shift for the worse still stands at the last point of a series, and how.

It stands until the earlier level is back. It is closed for good once that level was back and a
shift the other way was reported; a return that rests on few lucky nights may be revoked later.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from analyze.stats.changepoints.scan import COMMON_FIFTHS
from analyze.stats.changepoints.values import (
    change_of_rates,
    change_of_values,
    rate_is_back,
    value_is_back,
)

if TYPE_CHECKING:
    from analyze.regressions.series import Series
    from analyze.stats.changepoints.scan import Bools, Floats, Ints, LevelShift, Scan
    from schemas.config.known_issues import ShiftMetric
    from schemas.config.project import Thresholds


@dataclass(frozen=True, slots=True)
class Standing:
    """What is measured of a shift that stands.

    Attributes:
        shift: as it was seen; indices are places in the points of its series.
        old: points of the level before.
        n_runs: since, the newest one included.
        before: level before, over the cases that both have.
        after: the level since, until it shifted again.
        now: the newest level.
        size: of a rate after - before, of a time or cost after / before.
    """

    shift: LevelShift
    old: Ints
    n_runs: int
    before: float
    after: float
    now: float
    size: float


def standing_shifts(
    series: Series, metric: ShiftMetric, scanned: Scan, limits: Thresholds
) -> list[Standing]:
    """Return the shifts for the worse that stand at the last point of a series, oldest first.

    The scan of the series ends at the run that is judged; what lies within half a margin is back.
    """
    worse = "down" if metric == "passed_rate" else "up"
    found = (
        _standing(series, metric, scanned, shift, limits)
        for shift in scanned.shifts
        if shift.direction == worse
    )
    return [one for one in found if one is not None]


def _standing(
    series: Series, metric: ShiftMetric, scanned: Scan, shift: LevelShift, limits: Thresholds
) -> Standing | None:
    """Return how a shift stands at the last point; None: its level was back, or is none of now.

    The cases are those of the level before, as its last run asked them. A run that shares fewer
    than four of five with it says nothing about this level: the suite is another one.
    """
    version = series.hashes[shift.last_before]
    same = (series.hashes == version) & (version >= 0)
    usable = np.flatnonzero(series.is_usable)
    alike = usable[_alike(series, same, shift)[usable]]
    if not alike.size or alike[-1] != usable[-1]:
        return None
    values = _Values.of(series, metric, same)
    rows = alike[values.known[alike].any(axis=1)]
    level_before = [one for one in scanned.segments if one.last < shift.at][-1]
    level_after = next(one for one in scanned.segments if one.last >= shift.at)
    old = rows[(rows >= level_before.first) & (rows <= level_before.last)]
    new = rows[rows >= shift.at]
    if not old.size or not new.size:
        return None
    is_back = values.is_back(old, new, limits)
    if is_back[-1] or is_back[new >= _returned(scanned, shift)].any():
        return None
    before, after, size = values.levels(old, new[new <= level_after.last])
    newest = new[new >= scanned.segments[-1].first]
    _, now, _ = values.levels(old, newest if newest.size else new)
    return Standing(shift, old, len(new), before, after, now, size)


def _returned(scanned: Scan, shift: LevelShift) -> float:
    """Return the point from which a later shift the other way could be told; infinite: none yet."""
    return min(
        (
            later.seen_at
            for later in scanned.shifts
            if later.at > shift.at and later.direction != shift.direction
        ),
        default=math.inf,
    )


def _alike(series: Series, same: Bools, shift: LevelShift) -> Bools:
    """Return which points ask at least four of five cases of the level before, unchanged."""
    planned = (series.hashes >= 0).sum(axis=1)
    most = np.maximum(planned, planned[shift.last_before])
    enough: Bools = 5 * same.sum(axis=1) >= COMMON_FIFTHS * most
    return enough


@dataclass(frozen=True, slots=True)
class _Values:
    """One metric of a series in the cases that count: points x cases.

    Attributes:
        known: where there is a value.
        passed: trials that passed; of a rate.
        scored: trials with a verdict; of a rate.
        logs: mean logarithm of a time (ms) or a cost (USD), nan where there is none; None: a rate.
    """

    known: Bools
    passed: Ints
    scored: Ints
    logs: Floats | None

    @classmethod
    def of(cls, series: Series, metric: ShiftMetric, same: Bools) -> _Values:
        passed, scored = series.passed * same, series.scored * same
        if metric == "passed_rate":
            return cls(scored > 0, passed, scored, None)
        known = same & (series.measured[metric][0] > 0)
        return cls(known, passed, scored, np.where(known, series.mean_logs(metric), np.nan))

    def is_back(self, old: Ints, new: Ints, limits: Thresholds) -> Bools:
        """Return after which of the points since a shift the level before was back."""
        if self.logs is None:
            return rate_is_back(
                *self._pooled(old),
                self.passed[new],
                self.scored[new],
                margin=limits.pass_rate_margin,
            )
        return value_is_back(self._mean_logs(old), self.logs[new], ratio_margin=limits.ratio_margin)

    def levels(self, old: Ints, new: Ints) -> tuple[float, float, float]:
        """Return the level before, the newer level and the size of what changed."""
        if self.logs is None:
            found = change_of_rates(*self._pooled(old), *self._pooled(new))
            before, change = float(found.before), float(found.change)
            return before, before + change, change
        found = change_of_values(self._mean_logs(old), self._mean_logs(new))
        before, change = float(found.before), float(found.change)
        return math.exp(before), math.exp(before + change), math.exp(change)

    def _pooled(self, rows: Ints) -> tuple[Any, Any]:
        return self.passed[rows].sum(axis=0), self.scored[rows].sum(axis=0)

    def _mean_logs(self, rows: Ints) -> Floats:
        """Return the mean of each case over some points; nan where there is no value."""
        assert self.logs is not None
        known = self.known[rows]
        sums = np.where(known, self.logs[rows], 0.0).sum(axis=0)
        n_known = known.sum(axis=0)
        return np.where(n_known > 0, sums / np.maximum(n_known, 1), np.nan)

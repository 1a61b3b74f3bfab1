"""The shifts for the worse that still stand at a run: what a gate must not forget.

A shift stands until the level before it is back, or until somebody acknowledges it. It is closed
for good when the level was back and a shift the other way was told; what a few lucky nights say
alone may be taken back by the next one.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from analyze.compare.outcomes import LN_SCALE
from analyze.runs_option import runs_option
from analyze.shifts.acknowledged import Entries
from analyze.shifts.found import FoundShift
from analyze.shifts.levels import FEWEST, METRICS, NANO, rests_on, scan, why_not
from analyze.shifts.points import Point, read_points
from analyze.shifts.series import read_history
from analyze.stats.recovery import (
    change_of_rates,
    change_of_values,
    rate_is_back,
    value_is_back,
)
from analyze.stats.series_scan import COMMON_FIFTHS
from schemas.regressions import OpenShift
from schemas.regressions import Series as SeriesNames

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from analyze.session import Session
    from analyze.shifts.series import Series
    from analyze.stats.series_scan import LevelShift, Scan
    from schemas.comparison import Axis
    from schemas.known import KnownFile, ShiftMetric
    from schemas.thresholds import Thresholds

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

MOST_POINTS = 120
"""Newest points of a suite that are looked at; `analyze regressions` looks at all."""

ROUNDING = 1e-12
"""A drop that a division blurred is not above what is tolerated."""


@dataclass(frozen=True)
class Open:
    """A shift that stands.

    Attributes:
        shift: as it is told.
        before: run_ids of the level before, the oldest first.
    """

    shift: OpenShift
    before: tuple[str, ...]


def find_open_shifts(
    session: Session,
    run_ids: Sequence[str],
    *,
    limits: Thresholds,
    metrics: Collection[ShiftMetric] = METRICS,
    model: str | None = None,
    allow: Collection[Axis] = (),
    known: KnownFile | None = None,
    max_drop: float | None = None,
    last: int = MOST_POINTS,
) -> list[Open]:
    """Return the shifts that stand at some runs, in the models that these runs asked.

    Args:
        session: the open lake.
        run_ids: the runs that are judged; their points are the last that are looked at.
        limits: margins below which a shift is none.
        metrics: that are looked at.
        model: only this one, by its model_id or model string.
        allow: with `case`, a case is the same whatever its content.
        known: acknowledged shifts stand no more.
        max_drop: of a pass rate that is tolerated; None: nobody asked.
        last: newest points of a suite that are looked at.

    Returns:
        by suite and model, of each metric the oldest first.
    """
    names = _names(session, run_ids, model)
    options = [word for axis in allow for word in ("--allow", axis) if axis == "case"]
    asked = _Asked(
        metrics, limits, Entries(known), max_drop, (*options, *runs_option(session.runs_dir))
    )
    found: list[Open] = []
    for suite_id in sorted({suite_id for suite_id, _ in names}):
        n_points, following = _points_until(read_points(session, suite_id), run_ids)
        if n_points < FEWEST:
            continue
        models = [model_id for of_suite, model_id in names if of_suite == suite_id]
        history = read_history(
            session,
            metrics,
            suite=suite_id,
            model=models[0] if len(models) == 1 else None,
            before=following,
            allow=allow,
            last=last,
        )
        for series in history.series():
            named = names.get((suite_id, series.model_id))
            if named is not None:
                found += _of_series(series, named, asked)
    return found


@dataclass(frozen=True, slots=True)
class _Asked:
    metrics: Collection[ShiftMetric]
    limits: Thresholds
    entries: Entries
    max_drop: float | None
    options: tuple[str, ...]
    """Of every command that is told."""


def _points_until(points: Sequence[Point], run_ids: Sequence[str]) -> tuple[int, str | None]:
    """Return how many points there are up to the newest of some runs, and the run after them."""
    places = [n for n, point in enumerate(points) if not set(run_ids).isdisjoint(point.run_ids)]
    end = places[-1] + 1 if places else 0
    return end, points[end].run_id if end < len(points) else None


def _names(
    session: Session, run_ids: Sequence[str], model: str | None
) -> dict[tuple[str, str], tuple[str, str, str | None]]:
    """Return provider, model and thinking level of each suite and model that runs asked."""
    rows = session.rows(
        "select suite_id, model_id, provider, model, thinking_level from int_group_models "  # noqa: S608
        f"where run_id in ({', '.join('?' * len(run_ids))}) and (? is null or ? in (model_id, "
        "model)) order by suite_id, model_id, provider, model, thinking_level nulls first",
        [*run_ids, model, model],
    )
    return {(suite_id, model_id): tuple(rest) for suite_id, model_id, *rest in rows}


def _of_series(
    series: Series,
    names: tuple[str, str, str | None],
    asked: _Asked,
) -> Iterator[Open]:
    usable = np.flatnonzero(series.is_usable)
    provider, model, thinking_level = names
    for metric in asked.metrics:
        for stands in standing_shifts(series, metric, asked.limits):
            shift = stands.shift
            told = FoundShift(
                series.suite_id,
                series.model_id,
                metric,
                series.points,
                usable,
                shift,
                *rests_on(series, metric, shift),
            )
            if asked.entries.of_shift(told) is not None:
                continue
            is_tolerated = None
            if metric == "passed_rate" and asked.max_drop is not None:
                drop = stands.before - stands.now
                is_tolerated = asked.max_drop > 0 and drop <= asked.max_drop + ROUNDING
            yield Open(
                OpenShift(
                    series=SeriesNames(
                        suite_id=series.suite_id,
                        model_id=series.model_id,
                        metric=metric,
                        provider=provider,
                        model=model,
                        thinking_level=thinking_level,
                    ),
                    first_run=told.first.run_id,
                    first_started_at_ms=told.first.started_at_ms,
                    last_run_before=told.last_before.run_id,
                    seen_in=series.points[shift.seen_at].run_id,
                    n_runs=stands.n_runs,
                    before=stands.before,
                    after=stands.after,
                    now=stands.now,
                    size=stands.size,
                    command=_command(series, told.first.run_id, asked.options),
                    is_tolerated=is_tolerated,
                ),
                tuple(run_id for place in stands.old for run_id in series.points[place].run_ids),
            )


def _command(series: Series, first_run: str, options: Sequence[str]) -> str:
    words = ["analyze", "regressions", "--suite", series.suite_id, "--model", series.model_id]
    return shlex.join([*words, "--since", first_run, *options])


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


def standing_shifts(series: Series, metric: ShiftMetric, limits: Thresholds) -> list[Standing]:
    """Return the shifts for the worse that stand at the last point of a series, oldest first.

    Args:
        series: up to the run that is judged.
        metric: that is looked at.
        limits: margins below which a shift is none, and half of which is back.
    """
    if why_not(series, metric) is not None:
        return []
    scanned = scan(series, metric, limits)
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
        counts, sums = series.measured[metric]
        unit = math.log(NANO) if metric == "cost_usd" else 0.0
        known = same & (counts > 0)
        logs = np.where(known, sums / LN_SCALE / np.maximum(counts, 1) - unit, np.nan)
        return cls(known, passed, scored, logs)

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

"""Everything that shifted in a history: computed whole, whatever of it is shown afterwards."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from analyze.regressions.cells import Cell, FoundCell, can_shift, cells_of, shifted_cells
from analyze.regressions.series import History, Series, read_history
from analyze.shifts.levels import METRICS, has_enough, rests_on, scan, why_not, why_not_now
from schemas.errors import counted
from schemas.output.regressions import SeriesSkipped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from analyze.query.session import Session
    from analyze.regressions.points import Point
    from analyze.stats.changepoints.scan import LevelShift
    from schemas.config.known_issues import ShiftMetric
    from schemas.config.project import Thresholds
    from schemas.output.comparison import Axis

    Ints = NDArray[np.int64]
    Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class FoundShift:
    """A level shift of a series, with the points it is about.

    Attributes:
        points: of the series.
        places: of those among them that say something about the level.
        n_cases: common to both levels.
        n_clusters: units that they make up; None when each stands alone.
    """

    suite_id: str
    model_id: str
    metric: ShiftMetric
    points: tuple[Point, ...]
    places: Ints
    shift: LevelShift
    n_cases: int
    n_clusters: int | None

    @property
    def first(self) -> Point:
        """Of the new level."""
        return self.points[self.shift.at]

    @property
    def last_before(self) -> Point:
        """Of the level before."""
        return self.points[self.shift.last_before]


@dataclass
class Found:
    """What a history holds.

    Attributes:
        n_runs: that were read.
        n_series: of one metric each that have runs enough to shift.
        n_cells: that have runs enough to shift.
        points: every one, the oldest first.
        model_ids: of the series.
        place: of each point among them, by its run_id.
        shifted_at: first point of the newest level of a pass rate that shifted, by series.
        cells: every cell there is now.
    """

    n_runs: int = 0
    n_series: int = 0
    n_cells: int = 0
    points: tuple[Point, ...] = ()
    model_ids: set[str] = field(default_factory=set)
    place: dict[str, int] = field(default_factory=dict)
    shifts: list[FoundShift] = field(default_factory=list)
    cell_shifts: list[FoundCell] = field(default_factory=list)
    skipped: list[SeriesSkipped] = field(default_factory=list)
    shifted_at: dict[tuple[str, str], Point] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)


def find_all(
    session: Session,
    limits: Thresholds,
    *,
    metrics: Collection[ShiftMetric] = METRICS,
    suite: str | None = None,
    model: str | None = None,
    allow: Collection[Axis] = (),
    tell: Tell | None = None,
    history: History | None = None,
) -> Found:
    """Return every shift of a suite, a model, or all there is.

    Args:
        session: the open lake.
        limits: margins below which a shift is none, and the share of false cells.
        metrics: that are scanned.
        suite: only this suite.
        model: only this one, by its model_id or model string.
        allow: with `case`, a case is the same whatever its content.
        tell: is told what is done, how much of it, and how much there is.
        history: what all this selects, where it is read already.
    """
    if history is None:
        history = read_history(session, metrics, suite=suite, model=model, allow=allow, tell=tell)
    found = Found(
        n_runs=sum(len(point.run_ids) for point in history.points),
        points=history.points,
        place={point.run_id: place for place, point in enumerate(history.points)},
    )
    for n_done, series in enumerate(history.series(), start=1):
        _scan_series(series, limits, metrics, found)
        found.cells += cells_of(series)
        if tell is not None:
            tell("series scanned", n_done, history.n_series)
    found.n_cells = sum(map(can_shift, found.cells))
    found.cell_shifts = shifted_cells(found.cells, limits.alpha)
    return found


def _scan_series(
    series: Series, limits: Thresholds, metrics: Collection[ShiftMetric], found: Found
) -> None:
    """Add what a series holds to what was found."""
    key = series.suite_id, series.model_id
    found.model_ids.add(series.model_id)
    usable = np.flatnonzero(series.is_usable)

    def skip(metric: ShiftMetric | None, why: str) -> None:
        suite_id, model_id = key
        skipped = SeriesSkipped(suite_id=suite_id, model_id=model_id, metric=metric, why=why)
        found.skipped.append(skipped)

    for n_left_out, why in (
        (int(np.count_nonzero(~series.is_covered)), "more than a tenth of the verdicts is missing"),
        (
            int(np.count_nonzero(series.is_covered & ~series.is_own)),
            "all their answers were taken over from earlier runs",
        ),
        (series.n_parts, "a part of the suite only"),
    ):
        if n_left_out:
            n_all = len(series.points) + series.n_parts
            skip(None, f"{n_left_out} of {counted(n_all, 'run')} left out: {why}")
    for metric in metrics:
        why_none = why_not(series, metric)
        if why_none is not None:
            skip(metric, why_none)
            continue
        scanned = scan(series, metric, limits)
        found.n_series += has_enough(series, scanned)
        found.shifts += [
            FoundShift(*key, metric, series.points, usable, shift, *rests_on(series, metric, shift))
            for shift in scanned.shifts
        ]
        if metric == "passed_rate" and scanned.shifts:
            found.shifted_at[key] = series.points[scanned.shifts[-1].at]
        if (why_short := why_not_now(series, scanned)) is not None:
            skip(metric, why_short)

"""Everything that shifted in a history: computed whole, whatever of it is shown afterwards.

Of one series: which metric is scanned how, what keeps one from being judged, and the runs since
each metric last shifted, which a new run is held against.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

import numpy as np

from analyze.regressions.cells import Cell, FoundCell, can_shift, cells_of, shifted_cells
from analyze.regressions.series import History, Series, read_history
from analyze.stats.changepoints.rates import scan_rate, unit_columns
from analyze.stats.changepoints.values import scan_values
from schemas.config.known_issues import ShiftMetric
from schemas.config.project import Thresholds
from schemas.errors import counted
from schemas.output.regressions import SeriesSkipped

if TYPE_CHECKING:
    from analyze.query.session import Session
    from analyze.regressions.points import Point
    from analyze.regressions.series import Histories
    from analyze.stats.changepoints.scan import Ints, LevelShift, Scan, Segment
    from schemas.output.comparison import Axis, Metric

    ScanProgress = Callable[[str, int, int], None]

METRICS: tuple[ShiftMetric, ...] = get_args(ShiftMetric)

MIN_SERIES_RUNS = 6
"""Runs without which no level can be told from another: three on each side."""


def scan(series: Series, metric: Metric, limits: Thresholds) -> Scan:
    """Return the levels of a metric of a series; indices are places in its points.

    Those of METRICS raise alerts. The others have levels too, for whoever asks.
    """
    if metric == "passed_rate":
        hashes, passed, scored = unit_columns(
            series.clusters, series.hashes, series.passed, series.scored
        )
        return scan_rate(hashes, passed, scored, series.coverage, margin=limits.pass_rate_margin)
    logs, (counts, _) = series.mean_logs(metric), series.measured[metric]
    return scan_values(
        series.hashes, logs, counts, series.coverage, ratio_margin=limits.ratio_margin
    )


def found_shifts(series: Series, metric: ShiftMetric, scanned: Scan) -> list[FoundShift]:
    """Return the shifts of a scan with the points that they are about, the oldest first."""
    names, usable = (series.suite_id, series.model_id), np.flatnonzero(series.is_usable)
    return [
        FoundShift(*names, metric, series.points, usable, shift, *_rests_on(series, metric, shift))
        for shift in scanned.shifts
    ]


def _rests_on(series: Series, metric: ShiftMetric, shift: LevelShift) -> tuple[int, int | None]:
    """Return the cases that a shift rests on, and the units they make up; None: each is one."""
    if metric != "passed_rate" or not any(series.clusters):
        return shift.n_cases, None
    before, after = series.hashes[shift.last_before], series.hashes[shift.at]
    return int(np.count_nonzero((before == after) & (after >= 0))), shift.n_cases


def why_not(series: Series, metric: ShiftMetric) -> str | None:
    """Return why a metric of a series has no levels at all; None: it may have."""
    if not (series.hashes >= 0).any():
        return (
            "the content of its cases is not known (an older folder); "
            "`--allow case` goes by their ids"
        )
    if metric == "passed_rate":
        return None if series.scored.any() else "none of its trials has a verdict"
    name = "time" if metric == "e2e_ms" else "cost above 0"
    return None if series.measured[metric][0].any() else f"no {name} of it is known"


def has_enough(series: Series, found: Scan) -> bool:
    """Return whether a series had at any time runs enough to shift."""
    return bool(found.shifts) or any(
        _n_runs(series, one) >= MIN_SERIES_RUNS for one in found.segments
    )


def _n_runs(series: Series, segment: Segment) -> int:
    return int(np.count_nonzero(series.is_usable[segment.first : segment.last + 1]))


def unscanned_reason(series: Series, found: Scan) -> str | None:
    """Return why the newest level of a series could not shift yet; None: it could."""
    if not found.segments:
        return "none of its runs has enough verdicts"
    newest = found.segments[-1]
    n_runs = _n_runs(series, newest)
    if n_runs >= MIN_SERIES_RUNS or newest.cause == "shift":
        return None
    runs = counted(n_runs, "run")
    if newest.cause == "suite_changed":
        first = series.points[newest.first].run_id
        return f"{runs} since its cases changed with `{first}`; {MIN_SERIES_RUNS} are needed"
    return f"{runs}; {MIN_SERIES_RUNS} are needed"


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
    history: History,
    limits: Thresholds,
    metrics: Collection[ShiftMetric] = METRICS,
    progress: ScanProgress | None = None,
) -> Found:
    """Return every shift of a history that was read with these metrics.

    Args:
        history: of a suite, a model, or all there is.
        limits: margins below which a shift is none, and the share of false cells.
        metrics: that are scanned.
        progress: is told what is done, how much of it, and how much there is.
    """
    found = Found(
        n_runs=sum(len(point.run_ids) for point in history.points),
        points=history.points,
        place={point.run_id: place for place, point in enumerate(history.points)},
    )
    for n_done, series in enumerate(history.series(), start=1):
        _scan_series(series, limits, metrics, found)
        found.cells += cells_of(series)
        if progress is not None:
            progress("series scanned", n_done, history.n_series)
    found.n_cells = sum(map(can_shift, found.cells))
    found.cell_shifts = shifted_cells(found.cells, limits.alpha)
    return found


def _scan_series(
    series: Series, limits: Thresholds, metrics: Collection[ShiftMetric], found: Found
) -> None:
    """Add what a series holds to what was found."""
    key = series.suite_id, series.model_id
    found.model_ids.add(series.model_id)

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
        found.shifts += found_shifts(series, metric, scanned)
        if metric == "passed_rate" and scanned.shifts:
            found.shifted_at[key] = series.points[scanned.shifts[-1].at]
        if (why_short := unscanned_reason(series, scanned)) is not None:
            skip(metric, why_short)


def runs_since_shift(
    session: Session,
    suite_id: str,
    model_id: str,
    before: str,
    metrics: Sequence[Metric] = ("passed_rate",),
    *,
    limits: Thresholds | None = None,
    allow: Collection[Axis] = (),
    histories: Histories | None = None,
) -> dict[Metric, tuple[str, ...]]:
    """Return the runs of one model before a run since the last shift, of each metric its own.

    They begin anew as well when the suite changed. Runs that lost more than a tenth of their
    verdicts, and parts of a suite, are not among them; of shards every one is. What comes after
    the run plays no part.

    Args:
        session: the open lake.
        suite_id: of the runs.
        model_id: that they asked.
        before: run_id of the run that is judged.
        metrics: whose levels are looked for. One that no run has a value of has no levels: then
            all runs are returned.
        limits: margins below which a shift is none; by default the packaged ones.
        allow: with `case`, a case is the same whatever its content.
        histories: of these metrics and more, where others look at them too; with the same `allow`.

    Returns:
        run_ids by metric, the oldest first; none when there is no such run.
    """
    if histories is not None:
        history = histories.of(suite_id).cut(before=before)
    else:
        history = read_history(
            session, metrics, suite=suite_id, model=model_id, before=before, allow=allow
        )
    for series in history.series():
        if series.model_id == model_id:
            return {
                metric: tuple(
                    run_id
                    for place in _newest_level(series, metric, limits or Thresholds())
                    for run_id in series.points[place].run_ids
                )
                for metric in metrics
            }
    return dict.fromkeys(metrics, ())


def _newest_level(series: Series, metric: Metric, limits: Thresholds) -> Ints:
    """Return the places of the points of the newest level that say something."""
    usable = np.flatnonzero(series.is_usable)
    if metric != "passed_rate" and not series.measured[metric][0].any():
        return usable
    segments = scan(series, metric, limits).segments
    if not segments:
        return usable[:0]
    newest = segments[-1]
    return usable[(usable >= newest.first) & (usable <= newest.last)]

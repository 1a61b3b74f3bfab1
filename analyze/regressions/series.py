"""A series: one model in one suite over its points, as matrices of points by cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from analyze.comparison.evidence.outcomes import LN_SCALE
from analyze.regressions.points import (
    COUNTS,
    SUMS,
    UNKNOWN,
    CellRows,
    Point,
    read_cell_rows,
    read_points,
)

if TYPE_CHECKING:
    from analyze.query.session import Session
    from analyze.stats.changepoints.scan import Bools, Floats, Ints
    from schemas.output.comparison import Axis, Metric

MIN_COVERAGE = 0.9
"""Coverage below which a run says nothing about its level."""

NANO = 1e9

MIN_SUITE_SHARE = 0.8
"""Share of the cases of a whole run that a part of one must have to stand beside it."""


@dataclass(frozen=True)
class Series:
    """One model in one suite; matrices have a row a point and a column a case.

    Attributes:
        suite_id: of all points.
        model_id: of all points.
        points: the oldest first; parts of a suite that are too small to stand for it left out.
        n_parts: how many such parts there were.
        case_ids: the cases, one a column.
        clusters: of each case, what it shares with others; None: it stands alone.
        hashes: a number for the case_hash, -1 where it was not planned or is not known.
        scored: independent trials with a verdict: not those taken over from earlier runs, and one
            where all repetitions in a run gave the same bytes.
        passed: of them.
        measured: trials with a measurement, and the sum of its logarithms, by its name; of the
            metrics that were asked for.
        coverage: share of the trials of a point with a verdict; of a suite that judges nothing,
            those with a time.
        is_scorable: a trial could get a verdict.
        is_own: which points have a trial of their own with a verdict, or a time where there are no
            verdicts; the others are copies of earlier runs.
    """

    suite_id: str
    model_id: str
    points: tuple[Point, ...]
    n_parts: int
    case_ids: tuple[str, ...]
    clusters: tuple[str | None, ...]
    hashes: Ints
    scored: Ints
    passed: Ints
    measured: dict[str, tuple[Ints, Ints]]
    coverage: Floats
    is_scorable: bool
    is_own: Bools

    @property
    def is_usable(self) -> Bools:
        """Which points say something about the level."""
        return self.is_covered & self.is_own

    def mean_logs(self, metric: Metric) -> Floats:
        """Return the mean logarithm of each cell, of ms, tokens or USD; nan where there is none."""
        counts, sums = self.measured[metric]
        unit = math.log(NANO) if metric == "cost_usd" else 0.0
        return np.where(counts > 0, sums / LN_SCALE / np.maximum(counts, 1) - unit, np.nan)

    @property
    def is_covered(self) -> Bools:
        """Which points have enough of their verdicts."""
        return self.coverage >= MIN_COVERAGE


@dataclass(frozen=True)
class History:
    """Every series that was asked for."""

    points: tuple[Point, ...]
    rows: CellRows
    metrics: tuple[Metric, ...]
    allow: frozenset[Axis]
    clusters: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By suite_id and case_id, as its newest run has it; a case without one is not in it."""

    def cut(self, *, before: str | None = None, last: int | None = None) -> History:
        """Return the part that `read_history` returns of the same with the same bounds."""
        kept = _places_within(self.points, before, last)
        if kept == range(len(self.points)):
            return self
        return replace(
            self,
            points=self.points[kept.start : kept.stop],
            rows=self.rows.of_points(kept.start, kept.stop),
        )

    @property
    def n_series(self) -> int:
        """How many there are."""
        return len(np.unique(self._keys()))

    def series(self) -> Iterator[Series]:
        """Yield the series in the order of (suite_id, model_id); one is in memory at a time."""
        keys = self._keys()
        order = np.argsort(keys, kind="stable")
        for chosen in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
            if chosen.size:
                yield self._one(chosen)

    def _one(self, chosen: Ints) -> Series:
        """Return the series that some entries of the rows make up."""
        rows = self.rows
        places, row = np.unique(rows.point[chosen], return_inverse=True)
        cases, column = np.unique(rows.case[chosen], return_inverse=True)
        shape = (len(places), len(cases))

        def summed(name: str) -> Ints:
            matrix = np.zeros(shape, np.int64)
            np.add.at(matrix, (row, column), rows.numbers[name][chosen])
            return matrix

        planned, scorable = summed("n_planned"), summed("n_scorable")
        scored, passed = _one_of_identical(
            summed("n_independent"),
            summed("n_independent_passed"),
            _answers(shape, row, column, {name: rows.numbers[name][chosen] for name in COUNTS}),
        )
        measured = {
            name: (summed(f"n_{name}"), summed(f"ln_{name}"))
            for name in self.metrics
            if name in SUMS
        }
        hashes = _hashes(shape, row, column, rows.case_hash[chosen])
        if "case" in self.allow:
            hashes = np.where(planned > 0, 0, UNKNOWN)
        of_series = tuple(self.points[place] for place in places)
        kept = _whole(of_series, planned > 0)
        is_scorable = bool(scorable.any())
        timed = summed("n_e2e_ms")
        good, of = (summed("n_scored"), scorable) if is_scorable else (timed, planned)
        coverage = good.sum(axis=1) / np.maximum(of.sum(axis=1), 1)
        suite_id = of_series[0].suite_id
        case_ids = tuple(rows.names[case] for case in cases)
        return Series(
            suite_id=suite_id,
            model_id=rows.names[rows.model[chosen[0]]],
            points=tuple(point for point, is_kept in zip(of_series, kept, strict=True) if is_kept),
            n_parts=int((~kept).sum()),
            case_ids=case_ids,
            clusters=tuple(self.clusters.get((suite_id, case_id)) for case_id in case_ids),
            hashes=hashes[kept],
            scored=scored[kept],
            passed=passed[kept],
            measured={name: (n[kept], ln[kept]) for name, (n, ln) in measured.items()},
            coverage=coverage[kept],
            is_scorable=is_scorable,
            is_own=(scored if is_scorable else timed)[kept].sum(axis=1) > 0,
        )

    def _keys(self) -> Ints:
        """Return a number for the series of each row."""
        suites = sorted({point.suite_id for point in self.points})
        suite_of = np.array([suites.index(point.suite_id) for point in self.points], np.int64)
        return suite_of[self.rows.point] * len(self.rows.names) + self.rows.model


def read_history(
    session: Session,
    metrics: Collection[Metric],
    *,
    suite: str | None = None,
    model: str | None = None,
    before: str | None = None,
    allow: Collection[Axis] = (),
    progress: Callable[[str, int, int], None] | None = None,
    last: int | None = None,
) -> History:
    """Return the history of a suite, a model, or all there is.

    Args:
        session: the open lake.
        metrics: that will be scanned; what only others need is not read.
        suite: only this suite.
        model: only this one, by its model_id or model string.
        before: only points before the one with this run.
        allow: with `case`, a case is the same whatever its content.
        progress: is told what is done, how much of it, and how much there is.
        last: only the newest so many points; None: all.
    """
    points = read_points(session, suite)
    kept = _places_within(points, before, last)
    points = points[kept.start : kept.stop]
    numbers = dict(COUNTS)
    for metric in metrics:
        numbers |= SUMS.get(metric, {})
    rows = read_cell_rows(session, points, numbers, model=model, progress=progress)
    clusters = {
        (suite_id, case_id): cluster
        for suite_id, case_id, cluster in session.rows(
            "select suite_id, case_id, cluster from int_case_clusters order by all"
        )
    }
    return History(tuple(points), rows, tuple(metrics), frozenset(allow), clusters)


class Histories:
    """Whole histories of suites, each read once for all who look at a part of it."""

    def __init__(
        self,
        session: Session,
        metrics: Collection[Metric],
        *,
        model: str | None = None,
        allow: Collection[Axis] = (),
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        """Read nothing yet; the arguments are those of `read_history`."""
        self._read = partial(
            read_history, session, metrics, model=model, allow=allow, progress=progress
        )
        self._by_suite: dict[str, History] = {}

    def of(self, suite: str) -> History:
        """Return the history of a suite."""
        if suite not in self._by_suite:
            self._by_suite[suite] = self._read(suite=suite)
        return self._by_suite[suite]


def _places_within(points: Sequence[Point], before: str | None, last: int | None) -> range:
    """Return the places of the points that some bounds leave."""
    end = len(points)
    if before is not None:
        end = next((n for n, point in enumerate(points) if before in point.run_ids), end)
    return range(0 if last is None else max(end - last, 0), end)


def _hashes(shape: tuple[int, int], row: Ints, column: Ints, known: Ints) -> Ints:
    """Return the hash of each cell; UNKNOWN where shards of one plan do not agree."""
    highest = np.full(shape, UNKNOWN, np.int64)
    lowest = np.full(shape, np.iinfo(np.int64).max, np.int64)
    np.maximum.at(highest, (row, column), known)
    np.minimum.at(lowest, (row, column), known)
    return np.where(highest == lowest, highest, UNKNOWN)


def _answers(shape: tuple[int, int], row: Ints, column: Ints, numbers: Mapping[str, Ints]) -> Ints:
    """Return the answer that all own trials of each cell gave; UNKNOWN where there are several."""
    own = numbers["n_independent"] > 0
    return _hashes(shape, row[own], column[own], numbers["answer"][own])


def _one_of_identical(scored: Ints, passed: Ints, answers: Ints) -> tuple[Ints, Ints]:
    """Return the counts with one trial for a cell whose repetitions gave one answer and verdict."""
    is_one = (answers != UNKNOWN) & ((passed == 0) | (passed == scored))
    most = np.where(is_one, 1, scored)
    return np.minimum(scored, most), np.minimum(passed, most)


def _whole(points: Sequence[Point], planned: Bools) -> Bools:
    """Return which points stand for the suite: whole runs, and parts with most of its cases.

    A run of three cases that somebody tried is no change of the suite.
    """
    kept = np.ones(len(points), np.bool_)
    last = None
    for place, point in enumerate(points):
        if point.is_narrowed and last is not None:
            n_common = np.count_nonzero(planned[place] & planned[last])
            kept[place] = n_common >= MIN_SUITE_SHARE * np.count_nonzero(planned[last])
        if kept[place]:
            last = place
    return kept

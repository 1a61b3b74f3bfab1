"""Single cells: one case with one model over its runs, under the content that it has now.

Runs that lost too many trials count here as little as in a series, and a case that the newest run
no longer asks is no cell any more. One family: all cells of the call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analyze.stats.changepoints.cells import CellSplit, cell_splits
from analyze.stats.changepoints.scan import MIN_LENGTH
from analyze.stats.paired_means import benjamini_hochberg

if TYPE_CHECKING:
    from analyze.regressions.points import Point
    from analyze.regressions.series import Series
    from analyze.stats.changepoints.scan import Ints
    from schemas.config.known_issues import Direction

CONFIDENCE = 0.999
"""Chance that the true place is among those that may be: hundreds of cells shift with a series."""

MIN_BREAK_DISTANCE = 3
"""Two breaks fewer runs apart are one: no level is shorter."""


@dataclass(frozen=True)
class Cell:
    """One case with one model.

    Attributes:
        points: those of its series.
        places: of its runs among them.
        passed: trials that passed in each run.
        scored: trials with a verdict in each run.
    """

    suite_id: str
    model_id: str
    case_id: str
    points: tuple[Point, ...]
    places: Ints
    passed: Ints
    scored: Ints


@dataclass(frozen=True)
class FoundCell:
    """A cell that shifted.

    Attributes:
        at: place of the first run after the split among the points of its series.
        last_before: place of the last run before it that has a verdict.
    """

    cell: Cell
    split: CellSplit
    q: float
    at: int
    last_before: int
    n_runs: int

    @property
    def direction(self) -> Direction:
        """Of its pass rate."""
        before = self.split.before_passed * self.split.after_scored
        return "down" if self.split.after_passed * self.split.before_scored < before else "up"


def cells_of(series: Series) -> list[Cell]:
    """Return the cells that the newest usable run of a series asks."""
    usable = np.flatnonzero(series.is_usable)
    if not usable.size:
        return []
    newest = series.hashes[usable[-1]]
    cells = []
    for column in np.flatnonzero(newest >= 0).tolist():
        places = usable[series.hashes[usable, column] == newest[column]]
        names = series.suite_id, series.model_id, series.case_ids[column]
        passed, scored = series.passed[places, column], series.scored[places, column]
        cells.append(Cell(*names, series.points, places, passed, scored))
    return cells


def shifted_cells(cells: Sequence[Cell], alpha: float) -> list[FoundCell]:
    """Return the cells that shifted.

    All cells of the call are one family, and alpha is the share of false ones among those found.
    """
    splits = cell_splits([(cell.passed, cell.scored) for cell in cells])
    qs = benjamini_hochberg([split.p if split else None for split in splits])
    return [
        _found_cell(cell, split, q)
        for cell, split, q in zip(cells, splits, qs, strict=True)
        if split is not None and q is not None and q <= alpha
    ]


def _found_cell(cell: Cell, split: CellSplit, q: float) -> FoundCell:
    scored = np.flatnonzero(cell.scored > 0)
    before = scored[scored < split.at]
    return FoundCell(
        cell=cell,
        split=split,
        q=q,
        at=int(cell.places[split.at]),
        last_before=int(cell.places[before[-1]]),
        n_runs=len(scored),
    )


def can_shift(cell: Cell) -> bool:
    """Return whether a cell has runs enough for a split."""
    return int(np.count_nonzero(cell.scored)) >= MIN_LENGTH


def may_lie_at(found: FoundCell, place: int) -> bool:
    """Return whether the break of a cell may lie at another run.

    With a few trials a run the best split of a cell is often some runs away from where the cell
    really shifted, and moves as runs follow. So a cell that shifted with its series, or that
    somebody has acknowledged, is known again by its likelihood: the break may lie wherever a split
    explains the verdicts nearly as well as the best one does. Twice the difference of the
    log-likelihoods stays below x with chance (1 - exp(-x / 2))^2 (Hinkley 1970; Yao 1987, for a
    normal mean). The run is the first of the new level.
    """
    other = int(np.searchsorted(found.cell.places, place))
    if not 0 < other < len(found.cell.places):
        return False
    if abs(found.at - place) < MIN_BREAK_DISTANCE:
        return True
    lost = 2 * (_log_likelihood(found, found.split.at) - _log_likelihood(found, other))
    return lost <= -2 * math.log(1 - math.sqrt(CONFIDENCE))


def _log_likelihood(found: FoundCell, at: int) -> float:
    """Return that of the verdicts when the pass rate changes once, before run `at` of the cell."""
    passed, scored = found.cell.passed, found.cell.scored
    return sum(
        _of_level(int(passed[level].sum()), int(scored[level].sum()))
        for level in (slice(None, at), slice(at, None))
    )


def _of_level(k: int, n: int) -> float:
    return sum(count * math.log(count / n) for count in (k, n - k) if count)

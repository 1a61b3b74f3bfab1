"""Where the pass rate of one cell shifted: the best split of its runs by an exact test.

A cell is one case of one model over the runs in which it has a verdict. Every split with at least
three such runs on either side is Fisher's 2 x 2 table of passes before and after; the smaller exact
hypergeometric tail of the best split, doubled and times the number of splits, is its chance. Over
many cells the caller corrects once more (Benjamini & Hochberg). No other test of a single cell
exists.

All cells of a call are worked on at once. A tail is at least its first term and at most that term
as a geometric series, which leaves few splits of a cell whose tail must be added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analyze.stats.changepoints.scan import MIN_LENGTH, MIN_RUNS, Floats, Ints

SAME = 1e-9
"""Tails this close, relatively, are the same but for rounding: the earlier split counts."""

NEGLIGIBLE = 1e-17
"""A term this small beside the sum no longer changes it."""


@dataclass(frozen=True, slots=True)
class CellSplit:
    """The best split of a cell; passes and trials with a verdict on either side."""

    at: int
    """Index of the first run after it."""
    p: float
    """Its doubled tail times the number of splits, at most 1."""
    before_passed: int
    before_scored: int
    after_passed: int
    after_scored: int


def cell_splits(cells: Sequence[tuple[ArrayLike, ArrayLike]]) -> list[CellSplit | None]:
    """Return the best split of each cell, None below six runs with a verdict.

    Args:
        cells: of each cell k and m. k: of each run, oldest first, the trials that passed; m: those
            that have a verdict; without any, the run is no point.

    Raises:
        ValueError: k and m of a cell are not of equal length.
    """
    points: dict[int, Ints] = {}
    passed: list[Ints] = []
    scored: list[Ints] = []
    for place, (k, m) in enumerate(cells):
        k_of_run, m_of_run = np.asarray(k, dtype=np.int64), np.asarray(m, dtype=np.int64)
        if k_of_run.shape != m_of_run.shape or m_of_run.ndim != 1:
            message = f"expects two counts a run, got {k_of_run.shape} and {m_of_run.shape}"
            raise ValueError(message)
        filled = np.flatnonzero(m_of_run)
        if len(filled) >= MIN_LENGTH:
            points[place] = filled
            passed.append(k_of_run[filled])
            scored.append(m_of_run[filled])
    found = dict(zip(points, _best(points.values(), passed, scored), strict=True)) if points else {}
    return [found.get(place) for place in range(len(cells))]


def _best(points: Iterable[Ints], passed: list[Ints], scored: list[Ints]) -> list[CellSplit]:
    """Return the best split of every cell; each has at least six runs.

    Args:
        points: of each cell the indices of the runs that have a verdict.
        passed: of each cell the trials of these runs that passed.
        scored: those with a verdict.
    """
    lengths = np.array([len(one) for one in scored])
    n_splits = lengths - (MIN_LENGTH - 1)
    starts = np.concatenate(([0], n_splits.cumsum()[:-1]))
    inner = slice(MIN_RUNS - 1, -MIN_RUNS)
    before_k = np.concatenate([one.cumsum()[inner] for one in passed])
    before_m = np.concatenate([one.cumsum()[inner] for one in scored])
    whole_k = np.array([one.sum() for one in passed])
    whole_m = np.array([one.sum() for one in scored])
    cell = np.repeat(np.arange(len(lengths)), n_splits)
    tails, logs = _tails(before_k, before_m, whole_k[cell], whole_m[cell], cell=cell, starts=starts)
    least = np.minimum.reduceat(tails, starts)
    # where a tail is too small for a float, the logarithm of its first term decides
    leading = logs <= np.minimum.reduceat(logs, starts)[cell] + SAME
    ties = np.flatnonzero((tails <= least[cell] * (1 + SAME)) & (leading | (least[cell] > 0)))
    _, first = np.unique(cell[ties], return_index=True)
    at = ties[first]
    chance = np.minimum(1.0, 2 * least * n_splits)
    k, m = before_k[at], before_m[at]
    counts = np.stack([k, m, whole_k - k, whole_m - m], axis=1).tolist()
    firsts = at - starts + MIN_RUNS
    return [
        CellSplit(int(filled[first]), float(p), *of_cell)
        for filled, first, p, of_cell in zip(points, firsts, chance, counts, strict=True)
    ]


def _tails(
    k: Ints, m: Ints, whole_k: Ints, whole_m: Ints, *, cell: Ints, starts: Ints
) -> tuple[Floats, Floats]:
    """Return the smaller tail of each split, or infinity where another of its cell is smaller.

    Beside it the logarithm of the tail's first term.

    A split below its expectation is turned around: as few passes before are as many after.
    """
    turned = k * whole_m < m * whole_k
    x = np.where(turned, whole_k - k, k)
    drawn = np.where(turned, whole_m - m, m)
    logs = _log_probability(x, drawn, whole_k, whole_m)
    first = np.exp(logs)
    ratio = _next_ratio(x, drawn, whole_k, whole_m)
    bound = np.minimum.reduceat(first / (1 - ratio), starts)
    near = np.flatnonzero(first <= bound[cell] * (1 + SAME))
    upper = _upper_tail(x[near], drawn[near], whole_k[near], whole_m[near], first[near])
    tails = np.full(len(x), np.inf)
    tails[near] = np.minimum(upper, 1 - upper + first[near])
    return tails, logs


def _upper_tail(x: Ints, drawn: Ints, whole_k: Ints, whole_m: Ints, first: Floats) -> Floats:
    """Return P(X >= x), term by term from the one at x."""
    total = np.ones(len(x))
    term = np.ones(len(x))
    step = x.copy()
    while (term > NEGLIGIBLE * total).any():
        term = term * _next_ratio(step, drawn, whole_k, whole_m)
        total = total + term
        step = step + 1
    return first * total


def _next_ratio(x: Ints, drawn: Ints, whole_k: Ints, whole_m: Ints) -> Floats:
    """Return P(X = x + 1) / P(X = x); 0 at the largest x, and beyond."""
    up = np.maximum(whole_k - x, 0) * np.maximum(drawn - x, 0)
    down = (x + 1) * (whole_m - whole_k - drawn + x + 1)
    ratio: Floats = up / down
    return ratio


def _log_probability(x: Ints, drawn: Ints, whole_k: Ints, whole_m: Ints) -> Floats:
    """Return ln P(X = x): x passes among the trials drawn, of all the passes among all trials."""
    logs = _log_factorials(int(whole_m.max()))
    ways: Floats = (
        _log_choose(logs, whole_k, x)
        + _log_choose(logs, whole_m - whole_k, drawn - x)
        - _log_choose(logs, whole_m, drawn)
    )
    return ways


def _log_choose(logs: Floats, n: Ints, k: Ints) -> Floats:
    ways: Floats = logs[n] - logs[k] - logs[n - k]
    return ways


def _log_factorials(most: int) -> Floats:
    """Return ln(0!) to ln(most!)."""
    return np.concatenate(([0.0], np.log(np.arange(1, most + 1)).cumsum()))

"""Whether a break of a cell may as well lie at another run: how surely its place is known.

With a few trials a run the best split of a cell is often some runs away from where the cell really
shifted, and moves as runs follow. So a cell that shifted with its series, or that somebody has
acknowledged, is known again by its likelihood: the break may lie wherever a split explains the
verdicts nearly as well as the best one does. Twice the difference of the log-likelihoods stays
below x with chance (1 - exp(-x / 2))^2 (Hinkley 1970; Yao 1987, for a normal mean).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from analyze.regressions.cells import FoundCell

CONFIDENCE = 0.999
"""Chance that the true place is among those that may be: hundreds of cells shift with a series."""

TOO_NEAR = 3
"""Two breaks fewer runs apart are one: no level is shorter."""


def may_lie_at(found: FoundCell, place: int) -> bool:
    """Return whether the break of a cell may lie at another run.

    Args:
        found: the cell and its best split.
        place: of the run among the points of its series, the first of the new level.
    """
    other = int(np.searchsorted(found.cell.places, place))
    if not 0 < other < len(found.cell.places):
        return False
    if abs(found.at - place) < TOO_NEAR:
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

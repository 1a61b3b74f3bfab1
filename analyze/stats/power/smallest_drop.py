"""Before a run: the smallest drop of a pass rate it can show, and the cases that a margin needs.

Two runs of the same cases are compared by their case means, with Student's t on n - 1 degrees of
freedom. A share `rho` of a trial's variance lies between cases, and two runs have it in common as
far as `kappa` says; the rest is averaged away by repetitions. Miller 2024 (arXiv 2411.00640),
section 5. The defaults are assumptions, to be printed as such where no history gives better ones.
The formula holds what it promises from 50 cases on; below, `exact_power` answers. Standard
library only: the collector plans with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from analyze.stats.paired_means import t_quantile

PASS_RATE = 0.8
"""p: pass rate of the better run."""

BETWEEN_CASES = 0.5
"""rho: share of a trial's variance that lies between cases rather than between repetitions."""

SAME_HARD_CASES = 0.9
"""kappa: correlation of the true case rates of the two runs."""

GRID = 40
"""Steps in which the first drop that is shown is looked for."""

HALVINGS = 40
"""Of one step of the grid: past any digit that is printed."""


def planning_mde(
    n_cases: int,
    repetitions: float,
    *,
    p: float = PASS_RATE,
    rho: float = BETWEEN_CASES,
    kappa: float = SAME_HARD_CASES,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float | None:
    """Return the smallest drop of a pass rate that two runs of this size show.

    It solves D = (t(1 - alpha/2) + t(power)) * sqrt(V(p, p - D) / n): the worse rate, and with it
    the variance V, depends on D itself.

    Args:
        n_cases: cases that both runs ask.
        repetitions: trials of each case in each run.
        p: pass rate of the better run.
        rho: share of a trial's variance that lies between cases.
        kappa: correlation of the true case rates of the two runs.
        alpha: two-sided chance of a false alarm.
        power: chance of showing a drop of this size.

    Returns:
        The drop as a share (0.12 is 12 points), or None when no drop could be shown, as with a
        single case.

    Raises:
        ValueError: a share is not between 0 and 1, or there are no repetitions.
    """
    _check(repetitions, p, rho, kappa)
    if n_cases < 2:
        return None
    quantiles = t_quantile(1 - alpha / 2, n_cases - 1) + t_quantile(power, n_cases - 1)
    variance = partial(variance_of, p=p, rho=rho, kappa=kappa, repetitions=repetitions)
    return smallest_shown(p, lambda drop: quantiles * math.sqrt(variance(drop) / n_cases) <= drop)


def smallest_shown(p: float, is_shown: Callable[[float], bool]) -> float | None:
    """Return the smallest drop from `p` of which `is_shown` is true, None when of none it is.

    Args:
        p: pass rate of the better run: no drop is larger.
        is_shown: of a drop above 0; looked at in steps of p / 40, and then halved.
    """
    first = next((step for step in range(1, GRID + 1) if is_shown(p * step / GRID)), None)
    if first is None or p == 0:
        return None
    low, high = p * (first - 1) / GRID, p * first / GRID
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_shown(middle) else (middle, high)
    return high


def variance_of(drop: float, *, p: float, rho: float, kappa: float, repetitions: float) -> float:
    """Return n times the variance of the mean difference between rates p and p - drop.

    However alike two runs are said to be, they correlate no more than such case rates can, and the
    mean of a case moves in steps of 1/m, so that a mean difference D has a variance of at least
    D/m - D^2.

    Args:
        drop: as a share, at least 0.
        p: pass rate of the better run.
        rho: share of a trial's variance that lies between cases.
        kappa: correlation of the true case rates of the two runs.
        repetitions: trials of each case in each run.
    """
    worse = max(p - drop, 0.0)
    v_a, v_b = p * (1 - p), worse * (1 - worse)
    shared = min(kappa, most_alike(p, worse, rho))
    between = v_a + v_b - 2 * shared * math.sqrt(v_a * v_b)
    within = (v_a + v_b) / repetitions
    return max(rho * between + (1 - rho) * within, drop / repetitions - drop**2, 0.0)


def most_alike(p: float, worse: float, rho: float) -> float:
    """Return about how far case rates with other means can correlate at most, between 0 and 1.

    Those of one order, beta-distributed: with every case at 0 or 1 it is exp(-d/2) exactly, d the
    distance of the two means on the logit scale; below, the more alike the less lies between cases.
    Within 0.04 of the true one for rho of 0.25 to 1.

    Args:
        p: mean of one run's case rates.
        worse: mean of the other's.
        rho: share of a trial's variance that lies between cases.
    """
    if p == worse or rho == 0:
        return 1.0
    if not (0 < worse < 1 and 0 < p < 1):
        return 0.0
    distance = math.log(p / (1 - p)) - math.log(worse / (1 - worse))
    flat = 1.1 * (1 - rho) / rho
    return math.exp(flat - math.hypot(flat, distance / 2))


def _check(repetitions: float, p: float, rho: float, kappa: float) -> None:
    for name, share in (("p", p), ("rho", rho), ("kappa", kappa)):
        if not 0 <= share <= 1:
            message = f"`{name}` lies between 0 and 1, got {share}"
            raise ValueError(message)
    if repetitions < 1:
        message = f"a case has at least one repetition, got {repetitions}"
        raise ValueError(message)

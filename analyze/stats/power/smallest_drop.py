"""Before a run: the smallest drop of a pass rate it can show, and the cases that a margin needs.

Two runs of the same cases are compared by their case means, with Student's t on n - 1 degrees of
freedom. A share `rho` of a trial's variance lies between cases, and two runs have it in common as
far as `kappa` says; the rest is averaged away by repetitions. Miller 2024 (arXiv 2411.00640),
section 5. The defaults are assumptions, to be printed as such where no history gives better ones:
`parts_of_one` and `kappa_of` read them from past runs. The formula holds what it promises from 50
cases on; below, `power.exact` answers. Standard library only: the collector plans with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

MIN_CASES = 5
"""Fewer say too little about how cases differ."""


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
    mean of a case moves in steps of 1/m, so that a mean difference D has a variance of at least D/m
    - D^2. The parameters are those of `planning_mde`.
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


@dataclass(frozen=True)
class RunVariance:
    """Pass rate of a run, and the share of a trial's variance that lies between cases.

    `p` is None without a scored trial; `rho` is None where it cannot be told: below `MIN_CASES`,
    without a repeated case, or when every trial ended alike.
    """

    p: float | None
    rho: float | None


@dataclass(frozen=True)
class _Parts:
    """Case rates with their mean, and the two parts of a trial's variance."""

    rates: list[float]
    mean: float
    between: float
    within: float


def parts_of_one(k: Sequence[int], m: Sequence[int]) -> RunVariance:
    """Return the pass rate of a run and how much of its variance lies between cases.

    The method of moments. A trial's variance p (1 - p) has a part between cases and a part within
    them; within a case it is seen from repetitions. With equal repetitions the share is the
    analysis of variance estimator (Ridout, Demetrio & Firth 1999, Biometrics 55:137). A case
    without a scored trial is left out.

    Raises:
        ValueError: not one of both per case.
    """
    cases = [(passed, scored) for passed, scored in zip(k, m, strict=True) if scored > 0]
    trials = sum(scored for _, scored in cases)
    if not trials:
        return RunVariance(None, None)
    p = sum(passed for passed, _ in cases) / trials
    parts = _parts(cases)
    if parts is None or parts.between + parts.within <= 0:
        return RunVariance(p, None)
    return RunVariance(p, max(parts.between, 0.0) / (max(parts.between, 0.0) + parts.within))


def kappa_of(
    k_a: Sequence[int], m_a: Sequence[int], k_b: Sequence[int], m_b: Sequence[int]
) -> float | None:
    """Return the correlation of the true case rates of two runs, between 0 and 1.

    It is the observed one, cleared of what chance within the cases takes away from it (Spearman
    1904).

    Args:
        k_a: passed trials of each case in one run.
        m_a: its scored trials; a case with none in either run is left out.
        k_b: passed trials of the same cases, in the same order, in the other run.
        m_b: its scored trials.

    Returns:
        None where it cannot be told: below `MIN_CASES`, when a run repeats no case, or when the
        cases of a run differ by no more than chance within them.

    Raises:
        ValueError: not all four counts per case.
    """
    cases = [
        ((passed_a, scored_a), (passed_b, scored_b))
        for passed_a, scored_a, passed_b, scored_b in zip(k_a, m_a, k_b, m_b, strict=True)
        if scored_a > 0 and scored_b > 0
    ]
    one, other = _parts([a for a, _ in cases]), _parts([b for _, b in cases])
    if one is None or other is None or one.between <= 0 or other.between <= 0:
        return None
    shared = math.fsum(
        (a - one.mean) * (b - other.mean) for a, b in zip(one.rates, other.rates, strict=True)
    ) / (len(cases) - 1)
    return min(max(shared / math.sqrt(one.between * other.between), 0.0), 1.0)


def _parts(cases: Sequence[tuple[int, int]]) -> _Parts | None:
    """Return the parts, or None with too few cases or without repetitions."""
    repeated = [(k, m) for k, m in cases if m > 1]
    if len(cases) < MIN_CASES or not repeated:
        return None
    rates = [k / m for k, m in cases]
    mean = math.fsum(rates) / len(rates)
    spread = math.fsum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1)
    within = math.fsum(k * (m - k) / (m * (m - 1)) for k, m in repeated) / len(repeated)
    by_chance = within * math.fsum(1 / m for _, m in cases) / len(cases)
    return _Parts(rates, mean, spread - by_chance, within)

"""What past runs say about the spread of a pass rate: the numbers a planned size stands on.

The method of moments. A trial's variance p (1 - p) has a part between cases and a part within
them; within a case it is seen from repetitions. With equal repetitions the share is the analysis
of variance estimator (Ridout, Demetrio & Firth 1999, Biometrics 55:137). The correlation of the
true case rates of two runs is the observed one, cleared of what chance within the cases takes away
from it (Spearman 1904). Standard library only: the collector plans with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

FEWEST_CASES = 5
"""Fewer say too little about how cases differ."""


@dataclass(frozen=True)
class RunVariance:
    """Pass rate of a run, and the share of a trial's variance that lies between cases.

    `p` is None without a scored trial; `rho` is None where it cannot be told: below `FEWEST_CASES`,
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

    Args:
        k: passed trials of each case.
        m: scored trials of each case; a case with none is left out.

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

    Args:
        k_a: passed trials of each case in one run.
        m_a: its scored trials; a case with none in either run is left out.
        k_b: passed trials of the same cases, in the same order, in the other run.
        m_b: its scored trials.

    Returns:
        None where it cannot be told: below `FEWEST_CASES`, when a run repeats no case, or when the
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
    if len(cases) < FEWEST_CASES or not repeated:
        return None
    rates = [k / m for k, m in cases]
    mean = math.fsum(rates) / len(rates)
    spread = math.fsum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1)
    within = math.fsum(k * (m - k) / (m * (m - 1)) for k, m in repeated) / len(repeated)
    by_chance = within * math.fsum(1 / m for _, m in cases) / len(cases)
    return _Parts(rates, mean, spread - by_chance, within)

"""After the fact: the smallest drop that the data of two runs could have shown.

It follows from how much data there is and how it scatters, never from the observed effect (Hoenig
& Heisey 2001). From 50 repeated cases on the width of the interval tells it; below, and without
repetitions, it is what was to be planned with the pass rate, rho and kappa of these very runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from analyze.stats.assumptions import Assumptions, CaseSeen, RunSeen, assumptions_of
from analyze.stats.exact_power import FORMULA_FROM
from analyze.stats.planning import Planner
from analyze.stats.rate_difference import detectable
from schemas.thresholds import Thresholds

ONE_HASH = "-"
"""Cases that are paired were asked the same."""


def detectable_drop(
    k_a: Sequence[int],
    m_a: Sequence[int],
    k_b: Sequence[int],
    m_b: Sequence[int],
    *,
    low: float,
    high: float,
    limits: Thresholds,
) -> float:
    """Return the drop that would have been seen with the wanted power, within one night.

    Args:
        k_a: passed trials of each case of the base.
        m_a: its scored trials, at least one a case.
        k_b: passed trials of each case of the candidate.
        m_b: its scored trials, at least one a case.
        low: lower end of the 95 % interval of the difference.
        high: upper end of it.
        limits: alpha and power.

    Returns:
        A share; 1.0 where no drop would have been seen so often.
    """
    n_cases = len(k_a)
    repetitions = 2 * n_cases / math.fsum(1 / m for m in (*m_a, *m_b))
    if n_cases >= FORMULA_FROM and repetitions > 1:
        return detectable(low, high)
    found = Planner(limits, _assumed_of(k_a, m_a, k_b, m_b)).smallest(
        n_cases, repetitions, same_night=True
    )
    return 1.0 if found is None else found


def _assumed_of(
    k_a: Sequence[int], m_a: Sequence[int], k_b: Sequence[int], m_b: Sequence[int]
) -> Assumptions:
    """Return what the two runs tell; rate and rho are of both, so that neither comes first."""
    base, candidate = (
        RunSeen(("-",), {str(n): CaseSeen(ONE_HASH, m, k) for n, (k, m) in enumerate(counts)})
        for counts in (zip(k_a, m_a, strict=True), zip(k_b, m_b, strict=True))
    )
    given, mirrored = assumptions_of([candidate, base]), assumptions_of([base, candidate])
    given = replace(given, rho=(given.rho + mirrored.rho) / 2)
    rate = math.fsum(k / m for k, m in zip((*k_a, *k_b), (*m_a, *m_b), strict=True)) / 2 / len(k_a)
    if not 0 < rate < 1:
        return given
    return replace(given, pass_rate=rate, pass_rate_seen=rate)

"""The one interval of a rate: Wilson's, with the effective number of trials of repeated cases.

Cases are a sample of the work that a suite stands for, repetitions of a case are not independent
of each other. A closed form on counts, one of each a case; it reads no data and draws nothing.
How much less the trials tell than as many cases would, the design effect, is measured from the
spread of the cases, and shrunk to a prior where the data say little about it: near 0 and 1 and
with few cases the spread is mostly chance, and an interval that trusts it grows when a trial fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist

from schemas.base import Interval

Z95 = NormalDist().inv_cdf(0.975)
"""Normal quantile of a two-sided 95 % interval: 1.959964."""

Z90 = NormalDist().inv_cdf(0.95)
"""Normal quantile of a two-sided 90 % interval: 1.644854."""

MIN_CASES = 2
"""One case says nothing about how cases differ."""

PRIOR_SHARE = 0.6
"""Share of a trial's variance that lies between cases, before the data say anything."""

PRIOR_WEIGHT = 2.0
"""Weight of that, in passes or failures (whichever are fewer) of whole cases."""


def wilson_shrunk(k: Iterable[float], m: Iterable[float]) -> Interval | None:
    """Return the 95 % interval of the mean of k / m over units, or None below two units.

    Equal to plain Wilson at one trial per unit. Wilson 1927 (see Brown, Cai, DasGupta 2001,
    section 3), design effect as in Kish 1965 and Korn & Graubard 1998.

    Args:
        k: trials of each unit that passed. A unit is a case, or a cluster of cases whose trials
            are summed.
        m: trials of each unit that have a verdict; a unit with none is left out.
    """
    units = [(passed, scored) for passed, scored in zip(k, m, strict=True) if scored > 0]
    rates = [passed / scored for passed, scored in units]
    trials = [scored for _, scored in units]
    return mean_of_units(rates, trials, n_trials=int(math.fsum(trials)))


def mean_of_units(
    rates: Sequence[float], draws: Sequence[float], *, n_trials: int
) -> Interval | None:
    """Return the 95 % interval of the mean of one rate per unit, or None below two units.

    Args:
        rates: of each unit, between 0 and 1.
        draws: independent draws behind each of them, at least one a unit.
        n_trials: trials behind all of them, for the record.
    """
    if len(rates) < MIN_CASES:
        return None
    mean, n_eff = mean_rate(rates), effective_trials(rates, draws)
    low, high = wilson(mean, n_eff)
    return Interval(
        low=low,
        high=high,
        estimate=mean,
        n_cases=len(rates),
        n_trials=n_trials,
        n_eff=n_eff,
    )


def mean_rate(rates: Sequence[float]) -> float:
    """Return the mean of rates, of equal ones exactly theirs: three thirds need not be a third."""
    same = min(rates) == max(rates)
    return rates[0] if same else math.fsum(rates) / len(rates)


def effective_trials(rates: Sequence[float], draws: Sequence[float]) -> float:
    """Return how many independent trials would tell as much about the mean rate, at least n.

    n m_h / d, with m_h the harmonic mean of the draws, and d between 1 and m_h the design effect:
    (2 d_0 + r d_1) / (2 + r), where d_1 = (s^2 / n) / (p (1 - p) sum(1 / m) / n^2) is what the
    spread s^2 of the n rates shows, d_0 = 1 + 0.6 (m_h - 1) what is expected before, and
    r = n min(p, 1 - p) how much the spread can show.

    Args:
        rates: of at least two units, between 0 and 1; of one where it is 0 or 1.
        draws: independent draws behind each of them, at least one a unit.
    """
    n, mean = len(rates), mean_rate(rates)
    inverse = math.fsum(1 / count for count in draws)
    most = max(n / inverse, 1.0)
    prior = 1 + PRIOR_SHARE * (most - 1)
    binomial = mean * (1 - mean) * inverse / n**2
    shown = 1.0
    if binomial > 0:
        spread = math.fsum((rate - mean) ** 2 for rate in rates) / (n - 1) / n
        shown = min(max(spread / binomial, 1.0), most)
    weight = n * min(mean, 1 - mean)
    effect = (PRIOR_WEIGHT * prior + weight * shown) / (PRIOR_WEIGHT + weight)
    return n * most / effect


def wilson(p: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Return the limits of Wilson 1927 for a rate, kept inside 0 and 1.

    Args:
        p: the rate; at 0 and 1 the limit on that side is exact.
        n: effective number of trials, above 0.
        z: normal quantile of the wanted confidence.
    """
    z2 = z**2
    centre = p + z2 / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z2 / (4 * n**2))
    scale = 1 + z2 / n
    low = 0.0 if p == 0 else max((centre - half) / scale, 0.0)
    high = 1.0 if p == 1 else min((centre + half) / scale, 1.0)
    return low, high

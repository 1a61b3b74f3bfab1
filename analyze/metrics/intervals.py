"""The one interval of a rate: Wilson's, with the effective number of trials of clustered cases.

Cases are a sample of the work that a suite stands for, repetitions of a case are not independent
of each other. A closed form on counts, one of each a case; it reads no data and draws nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist

from schemas.interval import Interval

Z95 = NormalDist().inv_cdf(0.975)
"""Normal quantile of a two-sided 95 % interval: 1.959964."""

Z90 = NormalDist().inv_cdf(0.95)
"""Normal quantile of a two-sided 90 % interval: 1.644854."""

MIN_CASES = 2
"""One case says nothing about how cases differ."""

ROUNDING = 1e-12
"""A residual this small beside the total is an exact zero that the division blurred."""

Cases = Sequence[tuple[float, float]]
"""Passed and scored trials of each case."""


def wilson_clustered(k: Iterable[float], m: Iterable[float]) -> Interval | None:
    """Return the 95 % interval of the rate sum(k) / sum(m), or None below two cases.

    Equal to plain Wilson at one trial per case. Wilson 1927 (see Brown, Cai, DasGupta 2001,
    section 3), standard error of a ratio as in Cochran 1977 chapter 6, effective sample size as in
    Kish 1965 and Korn & Graubard 1998.

    Args:
        k: trials of each case that passed.
        m: trials of each case that have a verdict; a case with none is left out.
    """
    cases = [(passed, scored) for passed, scored in zip(k, m, strict=True) if scored > 0]
    trials = math.fsum(scored for _, scored in cases)
    return _interval(cases, most=trials, n_trials=int(trials))


def mean_of_cases(values: Sequence[float], *, most: float, n_trials: int) -> Interval | None:
    """Return the 95 % interval of the mean of one value per case, or None below two cases.

    Args:
        values: one value between 0 and 1 a case.
        most: upper limit of the effective number of trials, in place of the number of cases.
        n_trials: trials behind the values, for the record.
    """
    return _interval([(value, 1.0) for value in values], most, n_trials)


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


def _interval(cases: Cases, most: float, n_trials: int) -> Interval | None:
    if len(cases) < MIN_CASES:
        return None
    passes, trials = _sums(cases)
    n_eff = _effective_trials(cases, most)
    low, high = wilson(passes / trials, n_eff)
    return Interval(
        low=low,
        high=high,
        n_cases=len(cases),
        n_trials=n_trials,
        n_eff=n_eff,
    )


def _sums(cases: Cases) -> tuple[float, float]:
    return math.fsum(k for k, _ in cases), math.fsum(m for _, m in cases)


def _effective_trials(cases: Cases, most: float) -> float:
    """Return p (1 - p) / SE^2 between the equal-weight number of cases and `most`.

    SE^2 = n / (n - 1) * sum((k - p m)^2) / sum(m)^2. The residuals are taken times sum(m), where
    they are whole numbers, so that cases which all agree give an exact zero.
    """
    n_cases, (passes, trials) = len(cases), _sums(cases)
    least = trials**2 / math.fsum(m * m for _, m in cases)
    residuals = [k * trials - passes * m for k, m in cases]
    spread = math.fsum(r * r for r in residuals if abs(r) > ROUNDING * trials)
    if spread == 0:
        return least
    n_eff = passes * (trials - passes) * trials**2 * (n_cases - 1) / (n_cases * spread)
    return min(max(n_eff, least), max(most, least))

"""The one interval of a rate: Wilson's, with the effective number of trials of clustered cases.

Cases are a sample of the work that a suite stands for, repetitions of a case are not independent
of each other. A closed form on two arrays, one element a case; it reads no data and draws nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from schemas.summary import Interval

Z95 = NormalDist().inv_cdf(0.975)
"""Normal quantile of a two-sided 95 % interval: 1.959964."""

MIN_CASES = 2
"""One case says nothing about how cases differ."""

ROUNDING = 1e-12
"""A residual this small beside the total is an exact zero that the division blurred."""


def wilson_clustered(k: ArrayLike, m: ArrayLike) -> Interval | None:
    """Return the 95 % interval of the rate sum(k) / sum(m), or None below two cases.

    Equal to plain Wilson at one trial per case. Wilson 1927 (see Brown, Cai, DasGupta 2001,
    section 3), standard error of a ratio as in Cochran 1977 chapter 6, effective sample size as in
    Kish 1965 and Korn & Graubard 1998.

    Args:
        k: trials of each case that passed.
        m: trials of each case that have a verdict; a case with none is left out.
    """
    passed, scored = np.asarray(k, dtype=float), np.asarray(m, dtype=float)
    passed, scored = passed[scored > 0], scored[scored > 0]
    trials = float(scored.sum())
    return _interval(passed, scored, most=trials, n_trials=int(trials))


def mean_of_cases(values: Sequence[float], *, most: float, n_trials: int) -> Interval | None:
    """Return the 95 % interval of the mean of one value per case, or None below two cases.

    Args:
        values: one value between 0 and 1 a case.
        most: upper limit of the effective number of trials, in place of the number of cases.
        n_trials: trials behind the values, for the record.
    """
    return _interval(np.asarray(values, dtype=float), np.ones(len(values)), most, n_trials)


def _interval(k: np.ndarray, m: np.ndarray, most: float, n_trials: int) -> Interval | None:
    cases = len(m)
    if cases < MIN_CASES:
        return None
    passes, trials = float(k.sum()), float(m.sum())
    n_eff = _effective_trials(k, m, most)
    low, high = _wilson(passes / trials, n_eff)
    return Interval(
        low=0.0 if passes == 0 else low,
        high=1.0 if passes == trials else high,
        n_cases=cases,
        n_trials=n_trials,
        n_eff=n_eff,
    )


def _effective_trials(k: np.ndarray, m: np.ndarray, most: float) -> float:
    """Return p (1 - p) / SE^2 between the equal-weight number of cases and `most`.

    SE^2 = n / (n - 1) * sum((k - p m)^2) / sum(m)^2. The residuals are taken times sum(m), where
    they are whole numbers, so that cases which all agree give an exact zero.
    """
    cases, passes, trials = len(m), float(k.sum()), float(m.sum())
    least = trials**2 / float((m**2).sum())
    residuals = k * trials - passes * m
    residuals[np.abs(residuals) <= ROUNDING * trials] = 0.0
    spread = float((residuals**2).sum())
    if spread == 0:
        return least
    n_eff = passes * (trials - passes) * trials**2 * (cases - 1) / (cases * spread)
    return min(max(n_eff, least), max(most, least))


def _wilson(p: float, n: float) -> tuple[float, float]:
    """Return the limits of Wilson 1927 for a rate p of n trials, kept inside 0 and 1."""
    z2 = Z95**2
    centre = p + z2 / (2 * n)
    half = Z95 * math.sqrt(p * (1 - p) / n + z2 / (4 * n**2))
    scale = 1 + z2 / n
    return max((centre - half) / scale, 0.0), min((centre + half) / scale, 1.0)

"""Student's t of one difference per case: what judge scores, times, tokens and costs are tested by.

For a ratio the differences are those of logarithms, and the caller takes `exp` of mean and limits.
Cases are the unit (Miller 2024, arXiv 2411.00640); nothing is resampled. The q of many tests at
once is Benjamini and Hochberg's, in place of a p that somebody searched for.

Student's t at whole degrees of freedom is a closed finite series, and its inverse by tangents:
Abramowitz & Stegun 1964, 26.7.3 (odd) and 26.7.4 (even) for the probability, 26.7.5 for the
quantile where the series grows long. Standard library only, since the collector plans with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

MIN_EXPANSION_DF = 1_000
"""Degrees of freedom from which the expansion is exact to ten digits and the series is slow."""

NEAR = 1e-9
"""A step that is smaller than this part is the last: what it leaves is of its square."""

MIN_PAIRS = 5
"""Below it a mean of pairs has no interval and no p."""

MIN_P = 1e-12
"""The series behind `t_cdf` is right to this; a smaller p is given as this."""


def t_cdf(t: float, df: int) -> float:
    """Return P(T <= t) for `df` degrees of freedom, by the series of 26.7.3 and 26.7.4.

    Raises:
        ValueError: `df` is below one.
    """
    if df < 1:
        message = f"needs at least one degree of freedom, got {df}"
        raise ValueError(message)
    theta = math.atan(t / math.sqrt(df))
    sine, cosine2 = math.sin(theta), math.cos(theta) ** 2
    odd = df % 2
    term = math.cos(theta) if odd else 1.0
    total = term if df > 1 else 0.0
    for step in range(2 + odd, df - 1, 2):
        term *= cosine2 * (step - 1) / step
        total += term
    inside = 2 / math.pi * (theta + sine * total) if odd else sine * total
    return 0.5 + inside / 2


@lru_cache(maxsize=256)
def t_quantile(probability: float, df: int) -> float:
    """Return the t below which a share `probability` of the distribution lies.

    Raises:
        ValueError: the probability is not between 0 and 1, or `df` is below one.
    """
    if not 0 < probability < 1:
        message = f"a probability lies between 0 and 1, got {probability}"
        raise ValueError(message)
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    if df >= MIN_EXPANSION_DF:
        return _expansion(NormalDist().inv_cdf(probability), df)
    # the normal quantile lies below, and above 0 the distribution is concave: no step goes too far
    t = NormalDist().inv_cdf(probability)
    while True:
        step = (probability - t_cdf(t, df)) / _density(t, df)
        t += max(step, 0.0)
        if step <= NEAR * t:
            return t


def _density(t: float, df: int) -> float:
    """Return the density of the distribution."""
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    return scale * math.pow(1 + t * t / df, -(df + 1) / 2)


def _expansion(z: float, df: int) -> float:
    """Return the quantile from the normal one, 26.7.5; off by the order of df to the minus five."""
    z2 = z * z
    terms = (
        (z2 + 1) / 4,
        ((5 * z2 + 16) * z2 + 3) / 96,
        (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384,
        ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92_160,
    )
    return z * (1 + sum(term / math.pow(df, power) for power, term in enumerate(terms, start=1)))


@dataclass(frozen=True)
class MeanDifference:
    """Mean of n differences with limits of 95 and 90 %, and the two-sided p of the same t."""

    mean: float
    low: float
    high: float
    low90: float
    high90: float
    p: float
    n: int


def paired_t(differences: Sequence[float]) -> MeanDifference | None:
    """Return mean, limits and p with n - 1 degrees of freedom, or None below five pairs.

    Where all differences are the same the interval has no width, and p is 1 for a mean of zero, 0
    for any other.

    Args:
        differences: candidate minus base, one a case, in any order.

    Raises:
        ValueError: a difference is not finite.
    """
    values = finite(differences)
    n = len(values)
    if n < MIN_PAIRS:
        return None
    if min(values) == max(values):
        return mean_difference(values[0], 0.0, n - 1, n)
    mean = math.fsum(values) / n
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    return mean_difference(mean, error, n - 1, n)


def finite(differences: Sequence[float]) -> list[float]:
    """Return differences as floats.

    Raises:
        ValueError: one is not finite.
    """
    values = [float(value) for value in differences]
    if not all(map(math.isfinite, values)):
        message = "a difference is a finite number, got one that is not"
        raise ValueError(message)
    return values


def mean_difference(mean: float, error: float, df: int, n: int) -> MeanDifference:
    """Return a mean of n differences with what its standard error makes of it."""
    half, half90 = t_quantile(0.975, df) * error, t_quantile(0.95, df) * error
    p = two_sided_p(mean, error, df)
    return MeanDifference(mean, mean - half, mean + half, mean - half90, mean + half90, p, n)


def two_sided_p(difference: float, error: float, df: int) -> float:
    """Return the p of a difference; without an error 1 for none, 0 for any."""
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    return min(max(2 * t_cdf(-abs(difference) / error, df), MIN_P), 1.0)


def benjamini_hochberg(ps: Sequence[float | None]) -> list[float | None]:
    """Return q of every p, in the same order. Benjamini & Hochberg 1995.

    A family is what one call tests: one p per model, or one per cell. The share of false findings
    stays below the level, also under the positive dependence of shared cases (Benjamini & Yekutieli
    2001).

    Args:
        ps: one per test; None where there was nothing to test, which stays None and is not
            counted.

    Raises:
        ValueError: a p is not between 0 and 1.
    """
    tested = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    if any(not 0 <= p <= 1 for p, _ in tested):
        message = "a p lies between 0 and 1, got one that does not"
        raise ValueError(message)
    qs: list[float | None] = [None] * len(ps)
    smallest = 1.0
    for rank in range(len(tested), 0, -1):
        p, place = tested[rank - 1]
        smallest = min(smallest, p * (len(tested) / rank))
        qs[place] = smallest
    return qs

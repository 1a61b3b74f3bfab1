"""Student's t at whole degrees of freedom: a closed finite series, and its inverse by tangents.

Abramowitz & Stegun 1964: 26.7.3 (odd) and 26.7.4 (even degrees of freedom) for the probability,
26.7.5 for the quantile where the series grows long. Standard library only, since the collector
plans with it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

LONG = 1_000
"""Degrees of freedom from which the expansion is exact to ten digits and the series is slow."""

NEAR = 1e-9
"""A step that is smaller than this part is the last: what it leaves is of its square."""


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
    if df >= LONG:
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

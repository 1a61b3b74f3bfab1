"""Student's t of one difference per case: what judge scores, times, tokens and costs are tested by.

For a ratio the differences are those of logarithms, and the caller takes `exp` of mean and limits.
Cases are the unit (Miller 2024, arXiv 2411.00640); nothing is resampled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analyze.stats.paired_means import t_cdf, t_quantile

FEWEST_PAIRS = 5
"""Below it a mean of pairs has no interval and no p."""

SMALLEST_P = 1e-12
"""The series behind `t_cdf` is right to this; a smaller p is given as this."""


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
    values = [float(value) for value in differences]
    if not all(map(math.isfinite, values)):
        message = "a difference is a finite number, got one that is not"
        raise ValueError(message)
    n = len(values)
    if n < FEWEST_PAIRS:
        return None
    if min(values) == max(values):
        mean, error = values[0], 0.0
    else:
        mean = math.fsum(values) / n
        error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    if error == 0:
        return MeanDifference(mean, mean, mean, mean, mean, 1.0 if mean == 0 else 0.0, n)
    half, half90 = t_quantile(0.975, n - 1) * error, t_quantile(0.95, n - 1) * error
    p = min(max(2 * t_cdf(-abs(mean) / error, n - 1), SMALLEST_P), 1.0)
    return MeanDifference(mean, mean - half, mean + half, mean - half90, mean + half90, p, n)

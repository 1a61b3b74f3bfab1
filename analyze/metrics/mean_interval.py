"""The interval of a mean over trials of several cases: what costs and times are known to.

The mean is a sum over a number of trials, and both differ from case to case: a ratio, whose
standard error is that of Cochran 1977 chapter 6, as in the interval of a rate. Cases are the unit,
so the quantile is Student's with one degree of freedom less than there are cases. A closed form on
whole numbers: nothing is resampled, and no order of trials changes a digit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from analyze.metrics.intervals import MIN_CASES
from analyze.metrics.student import t_quantile


@dataclass(frozen=True)
class CaseSums:
    """What an interval needs of all cases: t is a case's total, m the trials it is divided by."""

    n_cases: int
    t: int
    m: int
    tt: int
    """Sum of the squares of t."""
    tm: int
    """Sum of the products."""
    mm: int
    """Sum of the squares of m."""


def mean_interval(sums: CaseSums) -> tuple[float, float] | None:
    """Return the 95 % limits of the mean t / m of what is never negative; None below two cases.

    With one trial a case it is the interval of a mean that everybody knows. SE^2 is
    n / (n - 1) * sum((t_i - R m_i)^2) / m^2 with R = t / m: every case mean weighs as it does in R.
    Cases that all agree give an interval without width.

    Args:
        sums: whole numbers, so that the residuals of equal cases are an exact zero.
    """
    n = sums.n_cases
    if n < MIN_CASES or sums.m == 0:
        return None
    mean = Fraction(sums.t, sums.m)
    spread = sums.tt - 2 * mean * sums.tm + mean**2 * sums.mm
    error = math.sqrt(Fraction(n, n - 1) * spread) / sums.m
    half = t_quantile(0.975, n - 1) * error
    return max(float(mean) - half, 0.0), float(mean) + half

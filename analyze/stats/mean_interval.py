"""The interval of a mean over trials of several cases: what costs and times are known to.

The mean is a sum over a number of trials, and both differ from case to case: a ratio, whose
standard error is that of Cochran 1977 chapter 6. Cases are the unit, so the quantile is Student's
with one degree of freedom less than there are cases. Costs are skewed, a few dear cases make most
of the mean, and are often not among those that were asked: limits lie as far apart in factors, not
in dollars, and as far as the spread of the logarithms says where that is more (Cox's interval, Zhou
& Gao 1997; alone it misses the mean of what is not lognormal). A closed form on whole numbers:
nothing is resampled, and no order of trials changes a digit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from analyze.stats.intervals import MIN_CASES
from analyze.stats.paired_means import t_quantile

LOG_UNIT = 10**9
"""Logarithms are summed as whole numbers of a billionth."""

MOST_HALF = 600.0
"""Half the width in ln; limits that lie farther apart than numbers go are none."""


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
    n_zero: int
    """Cases whose total is 0."""
    n_logs: int
    """Cases with a mean above 0: both t and m are."""
    log: int
    """Sum of ln(t / m) over them, each rounded to a whole number of 1 / LOG_UNIT."""
    log_log: int
    """Sum of the squares of those whole numbers."""


def mean_interval(sums: CaseSums) -> tuple[float, float] | None:
    """Return the 95 % limits of the mean t / m of what is never negative; None below two cases.

    R exp(-h) and R exp(h) with R = t / m and h = t_0.975,n-1 max(SE / R, C): SE^2 is
    n / (n - 1) * sum((t_i - R m_i)^2) / m^2, which is s^2 / n at equal m, and
    C^2 = s_L^2 / n + s_L^4 / (2 (n - 1)) with s_L the spread of ln(t_i / m_i), left out where a
    total is 0. Cases that all agree give an interval without width.

    Args:
        sums: whole numbers, so that the residuals of equal cases are an exact zero.

    Returns:
        The limits; None also where they lie farther apart than numbers go.
    """
    n = sums.n_cases
    if n < MIN_CASES or sums.m == 0:
        return None
    mean = Fraction(sums.t, sums.m)
    if mean == 0:
        return 0.0, 0.0
    spread = sums.tt - 2 * mean * sums.tm + mean**2 * sums.mm
    relative = math.sqrt(Fraction(n, n - 1) * spread / sums.t**2)
    half = t_quantile(0.975, n - 1) * max(relative, _of_logs(sums))
    if half > MOST_HALF:
        return None
    return float(mean) * math.exp(-half), float(mean) * math.exp(half)


def _of_logs(sums: CaseSums) -> float:
    n = sums.n_logs
    if sums.n_zero or n < MIN_CASES:
        return 0.0
    variance = Fraction(n * sums.log_log - sums.log**2, n * (n - 1) * LOG_UNIT**2)
    return math.sqrt(variance / n + variance**2 / (2 * (n - 1)))

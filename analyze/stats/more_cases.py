"""How many more cases make a rate sure: of its tier, or of being above a floor.

Wilson's interval is the inversion of the score test: a bound b lies outside the interval of a
mean over cases p exactly when n (p - b)^2 >= z^2 b (1 - b), with n the effective number of trials
(Wilson 1927; Brown, Cai, DasGupta 2001, section 3). That many cases would do it in half of the
runs, since the next mean scatters around p; so n is such that it comes about with a power of 80 %,
sqrt(n) |p - b| >= z sqrt(b (1 - b)) + z_power sqrt(p (1 - p)) (Fleiss, Levin & Paik 2003, chapter
4), for both bounds of a tier that has two. Further cases are taken to be like those there are, so
that each brings as much as one of them did.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist

from analyze.stats.intervals import MIN_CASES, Z95
from analyze.stats.power.exact import POWER
from analyze.stats.tiers import DEFAULT, tier_of
from schemas.base import Interval
from schemas.config.project import Thresholds

MOST_CASES = 100_000
"""A rate this near to its bound is on it, for all that anybody will ever measure."""


def more_cases_for_tier(
    rate: float | None, n_cases: int, interval: Interval | None, bounds: Thresholds = DEFAULT
) -> int | None:
    """Return how many more cases put the whole interval inside the tier of the rate.

    Args:
        rate: tool-use rate; None where nothing was tried, which is taken as all to be passed.
        n_cases: cases behind it, or clusters where they are in some; further ones are counted so.
        interval: of the rate; None below two of them.
        bounds: rates at which the tiers begin.

    Returns:
        0 when it is confident already; None when the rate lies on a bound, or the mean over cases
        that the interval is of in another tier: there no number of cases is enough.
    """
    expected = 1.0 if rate is None else rate
    tier = tier_of(expected, bounds)
    edges = {1: (bounds.tier_1_from,), 2: (bounds.tier_2_from, bounds.tier_1_from)}
    beyond = edges.get(tier or 3, (bounds.tier_2_from,))
    if interval and tier_of(interval.low, bounds) == tier_of(interval.high, bounds) == tier:
        return 0
    estimate = _estimate(expected, interval)
    if tier_of(estimate, bounds) != tier:
        return None
    return _more(estimate, n_cases, interval, beyond)


def more_cases_above(
    floor: float, rate: float, n_cases: int, interval: Interval | None
) -> int | None:
    """Return how many more cases lift the lower end of the interval to `floor`.

    Returns:
        0 when it is there already; None when what the interval is of is not above the floor.
    """
    if interval is not None and interval.low >= floor:
        return 0
    estimate = _estimate(rate, interval)
    return _more(estimate, n_cases, interval, (floor,)) if estimate > floor else None


def _estimate(rate: float, interval: Interval | None) -> float:
    """Return what the interval is of: the mean over cases, around which it shrinks."""
    known = None if interval is None else interval.estimate
    return rate if known is None else known


def _more(
    rate: float, n_cases: int, interval: Interval | None, beyond: Iterable[float]
) -> int | None:
    """Return the further cases until every bound lies outside the interval, with power 0.8."""
    edges = [bound for bound in beyond if 0 < bound < 1]  # no interval passes 0 or 1
    reached = NormalDist().inv_cdf(1 - (1 - POWER) / max(len(edges), 1))
    per_case = 1.0 if interval is None or n_cases == 0 else interval.n_eff / n_cases
    wanted = float(MIN_CASES)
    for bound in edges:
        if rate == bound:
            return None
        root = Z95 * math.sqrt(bound * (1 - bound)) + reached * math.sqrt(rate * (1 - rate))
        wanted = max(wanted, (root / (rate - bound)) ** 2 / per_case)
    total = math.ceil(wanted)
    return None if total > MOST_CASES else max(total - n_cases, 1)

"""Intervals of a rate and of a mean over cases, percentiles as they are told, and cases as units.

The one interval of a rate is Wilson's, with the effective number of trials of repeated cases: cases
are a sample of the work that a suite stands for, repetitions of a case are not independent of each
other. Closed forms on counts and whole numbers, one of each a unit: they read no data, draw and
resample nothing, and no order of trials changes a digit.

Cases made from one template, repository or passage succeed and fail together, so their cluster is
the unit (Miller 2024, arXiv 2411.00640, section 2.2); a case without one is a unit of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from analyze.stats.paired_means import t_quantile
from schemas.base import Interval
from schemas.output.summary import PercentileName, Percentiles, Supported

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

LOG_UNIT = 10**9
"""Logarithms are summed as whole numbers of a billionth."""

MAX_HALF_WIDTH = 600.0
"""Half the width in ln; limits that lie farther apart than numbers go are none."""

MIN_TAIL_TRIALS = 5
"""Trials that must lie above a percentile: p95 from 100 trials on, p99 from 500."""

Clusters = Sequence[str | None]
"""Of each case the name of its cluster, None for a case that stands alone."""


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
        low=low, high=high, estimate=mean, n_cases=len(rates), n_trials=n_trials, n_eff=n_eff
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

    How much less the trials tell than as many cases would, the design effect, is measured from the
    spread of the cases, and shrunk to a prior where the data say little about it: near 0 and 1 and
    with few cases the spread is mostly chance, and an interval that trusts it grows when a trial
    fails.

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

    The mean is a sum over a number of trials, and both differ from case to case: a ratio, whose
    standard error is that of Cochran 1977 chapter 6. Cases are the unit, so the quantile is
    Student's with one degree of freedom less than there are cases. Costs are skewed, a few dear
    cases make most of the mean, and are often not among those that were asked: limits lie as far
    apart in factors, not in dollars, and as far as the spread of the logarithms says where that is
    more (Cox's interval, Zhou & Gao 1997; alone it misses the mean of what is not lognormal).

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
    if half > MAX_HALF_WIDTH:
        return None
    return float(mean) * math.exp(-half), float(mean) * math.exp(half)


def _of_logs(sums: CaseSums) -> float:
    n = sums.n_logs
    if sums.n_zero or n < MIN_CASES:
        return 0.0
    variance = Fraction(n * sums.log_log - sums.log**2, n * (n - 1) * LOG_UNIT**2)
    return math.sqrt(variance / n + variance**2 / (2 * (n - 1)))


def is_supported(n: int, percent: int) -> bool:
    """Return n (1 - q) >= 5, in whole numbers so that the bound itself is exact."""
    return n * (100 - percent) >= 100 * MIN_TAIL_TRIALS


def supported(n: int) -> Supported:
    """Return which of the summary's percentiles n trials support."""
    return Supported(p50=is_supported(n, 50), p95=is_supported(n, 95), p99=is_supported(n, 99))


def percentiles(
    values: tuple[float | None, float | None, float | None],
    mean: float | None,
    n: int,
    n_timeouts: int,
) -> Percentiles:
    """Return the percentiles of one time of one model.

    It says which are beyond the time limit, and which have enough behind them. The percentiles
    themselves are SQL (`model_summary`); nothing is computed from samples here. There a time-out
    that counts against the model is later than every success, so that a percentile that reaches
    into the time-outs has no value.

    Args:
        values: p50, p95 and p99 as the view has them, in ms; None: no trial, or beyond the limit.
        mean: of the successes, in ms.
        n: successes whose time is known.
        n_timeouts: time-outs that count in these percentiles.
    """
    names: tuple[PercentileName, ...] = ("p50", "p95", "p99")
    n_all = n + n_timeouts
    beyond = [name for name, value in zip(names, values, strict=True) if n_all and value is None]
    p50, p95, p99 = values
    return Percentiles(
        p50=p50,
        p95=p95,
        p99=p99,
        mean=mean,
        n=n,
        supported=supported(n_all),
        n_timeouts=n_timeouts,
        beyond_limit=tuple(beyond),
    )


def unit_places(clusters: Clusters) -> list[int]:
    """Return the number of the unit of each case: from 0, in the order of their first cases.

    Taken as draws of their own, the cases of one cluster make intervals too narrow and differences
    too sure. Every formula takes counts a unit, and does not know what the unit was made of.
    """
    places: list[int] = []
    known: dict[str, int] = {}
    n_units = 0
    for cluster in clusters:
        place = n_units if cluster is None else known.setdefault(cluster, n_units)
        places.append(place)
        n_units += place == n_units
    return places


def n_clusters(clusters: Clusters) -> int | None:
    """Return how many units cases make up; None when each of them stands alone."""
    if not any(clusters):
        return None
    return max(unit_places(clusters)) + 1


def unit_sums(clusters: Clusters, *counts: Sequence[int]) -> tuple[list[int], ...]:
    """Return counts a unit, each list (one a case) summed over the cases of a unit.

    Raises:
        ValueError: a list is not as long as there are cases.
    """
    if any(len(each) != len(clusters) for each in counts):
        message = f"{len(clusters)} cases need as many counts, got {[len(one) for one in counts]}"
        raise ValueError(message)
    if not any(clusters):
        return tuple(list(each) for each in counts)
    places = unit_places(clusters)
    sums = tuple([0] * (max(places) + 1) for _ in counts)
    for total, each in zip(sums, counts, strict=True):
        for place, count in zip(places, each, strict=True):
            total[place] += count
    return sums


def unit_means(clusters: Clusters, values: Sequence[float]) -> list[float]:
    """Return a value a unit: the mean over its cases, of which each has one.

    Raises:
        ValueError: there is not one value a case.
    """
    groups: dict[int, list[float]] = {}
    for place, value in zip(unit_places(clusters), values, strict=True):
        groups.setdefault(place, []).append(value)
    return [math.fsum(group) / len(group) for group in groups.values()]

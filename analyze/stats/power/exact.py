"""The drop that the deciding test finds below 50 cases, and how many more cases make a rate sure.

Below 50 the t formula promises too much or too little: the exact sign-flip test cannot reach 0.05
before five cases differ, and its steps are coarse. With one trial a case a pair of runs is a
trinomial (McNemar's table), whose power is enumerated. With repetitions it is looked up in a table
that `benchmarks/power_table.py` simulated, and interpolated: n D^2, which is near to a variance, is
nearly linear in 1/n, 1/m, p, rho and kappa. Loads no numpy, since the collector plans with it.
"""

from __future__ import annotations

import itertools
import json
import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

from analyze.stats.intervals import MIN_CASES, Z95
from analyze.stats.paired_means import t_quantile
from analyze.stats.power.smallest_drop import planning_mde, variance_of
from analyze.stats.rates import DEFAULT, tier_of
from schemas.base import Interval
from schemas.config.project import Thresholds

TABLE = Path(__file__).with_name("power_table.json")

MIN_EXACT_CASES = 6
"""Fewer can promise no drop: all five of five must have changed, one way."""

MIN_FORMULA_CASES = 50
"""Cases from which the t formula holds what it promises."""

SIZES = (6, 7, 8, 10, 13, 16, 20, 32)
REPETITIONS = (2, 3, 5, 10)
PASS_RATES = (0.15, 0.3, 0.4, 0.5, 0.7, 0.8, 0.9, 0.97)
RHOS = (0.0, 0.25, 0.5, 0.75, 0.9)
KAPPAS = (0.0, 0.6, 0.9, 1.0)
"""Axes of the table, outermost first; at a rho of 0 there is nothing for kappa to tell."""

DRAWS = 4_000
"""Pairs of runs behind each of its drops."""

ALPHA, POWER = 0.05, 0.8
"""That it was made for."""

PER_PROBIT = 2.8
"""About what the probit of the power grows by when a drop doubles."""

MIN_POWER = 0.5 / DRAWS
"""A power below it is taken as this, and one that lacks less to 1 likewise."""

MAX_CASES = 100_000
"""A rate this near to its bound is on it, for all that anybody will ever measure."""


class PairModel(NamedTuple):
    """What two runs are taken to be."""

    p: float
    """Pass rate of the better one."""
    rho: float
    """Share of a trial's variance that lies between cases."""
    kappa: float
    """Correlation of the true case rates of the two."""

    def variance(self, drop: float, repetitions: float) -> float:
        """Return n times the variance of the mean difference (see `variance_of`)."""
        return variance_of(drop, p=self.p, rho=self.rho, kappa=self.kappa, repetitions=repetitions)

    def formula(self, n_cases: int, repetitions: float, alpha: float, power: float) -> float | None:
        """Return the drop of the t formula."""
        return planning_mde(n_cases, repetitions, alpha=alpha, power=power, **self._asdict())


def exact_mde(
    n_cases: int,
    repetitions: float,
    model: PairModel,
    *,
    alpha: float = ALPHA,
    power: float = POWER,
) -> float | None:
    """Return the smallest drop that the sign-flip test finds with a power, from 6 to 49 cases.

    Beyond the table's repetitions and pass rates, and for another alpha or power, its drop is
    carried on in proportion to the t formula's; another alpha asks for more or fewer changed cases
    (k of k have a mid-p of 2^-k), and is looked up at as many cases fewer or more.

    Args:
        n_cases: cases that both runs ask.
        repetitions: trials of each case in each run, at least 1.
        model: of the two runs.
        alpha: two-sided chance of a false alarm.
        power: chance of showing the drop.

    Returns:
        The drop as a share, or None when not even the drop to zero is found so often.

    Raises:
        ValueError: the number of cases is another.
    """
    if not MIN_EXACT_CASES <= n_cases < MIN_FORMULA_CASES:
        message = (
            f"the table is for {MIN_EXACT_CASES} to {MIN_FORMULA_CASES - 1} cases, got {n_cases}"
        )
        raise ValueError(message)
    if repetitions == 1 or model.rho == 1:
        found: float | None = _enumerated(n_cases, model, alpha, power)
    else:
        found = _tabled(n_cases, repetitions, model, alpha, power)
    return found if found is not None and found <= model.p else None


@lru_cache(maxsize=1_024)
def _enumerated(n_cases: int, model: PairModel, alpha: float, power: float) -> float:
    """Return the drop with one trial a case: worse, better or the same is all that a case can be.

    The share of cases that differ is V + D^2, and the power grows with D. Where the drop to zero is
    not enough, about what would be: a number above p.
    """

    def power_at(drop: float) -> float:
        differ = min(model.variance(drop, 1) + drop**2, 1.0)
        return _mcnemar_power(n_cases, differ, min((differ + drop) / (2 * differ), 1.0), alpha)

    most = min(max(power_at(model.p), MIN_POWER), 1 - MIN_POWER)
    if most < power:
        normal = NormalDist()
        return model.p * (1 + (normal.inv_cdf(power) - normal.inv_cdf(most)) / PER_PROBIT)
    low, high = 0.0, model.p
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (low, middle) if middle > 0 and power_at(middle) >= power else (middle, high)
    return high


def _mcnemar_power(n_cases: int, differ: float, worse: float, alpha: float) -> float:
    """Return how often so many of the differing cases are worse that the mid-p is at most alpha.

    A case differs between the runs with the chance `differ`, and is then worse with `worse`; alpha
    is two-sided.
    """
    least = _least_worse(n_cases, alpha)
    total = 0.0
    for number, needed in enumerate(least):
        if needed > number:
            continue
        chance = _binomial(number, n_cases, differ)
        total += chance * math.fsum(_binomial(k, number, worse) for k in range(needed, number + 1))
    return total


@lru_cache(maxsize=256)
def _least_worse(n_cases: int, alpha: float) -> tuple[int, ...]:
    """Return for 0 to n differing cases how many must be worse for a mid-p of alpha at most."""
    found = []
    for number in range(n_cases + 1):
        beyond, needed = 0, number + 1
        for k in range(number, number // 2, -1):
            at = math.comb(number, k)
            if (2 * beyond + at) / 2**number > alpha:
                break
            beyond, needed = beyond + at, k
        found.append(needed)
    return tuple(found)


def _binomial(k: int, n: int, chance: float) -> float:
    return math.comb(n, k) * chance**k * (1 - chance) ** (n - k)


def _tabled(
    n_cases: int, repetitions: float, model: PairModel, alpha: float, power: float
) -> float | None:
    """Return the drop of the table, carried on by the t formula where that has no place for it."""
    cases = n_cases if alpha == ALPHA else n_cases * math.log(ALPHA) / math.log(alpha)
    cases = min(max(cases, MIN_EXACT_CASES), MIN_FORMULA_CASES)
    few = min(repetitions, REPETITIONS[-1])
    near = model._replace(p=min(max(model.p, PASS_RATES[0]), PASS_RATES[-1]))
    drop = _interpolated(cases, few, near)
    if (cases, few, near, power) == (n_cases, repetitions, model, POWER):
        return drop
    wanted = model.formula(n_cases, repetitions, alpha, power)
    there = near.formula(round(cases), few, ALPHA, POWER)
    return None if wanted is None or there is None else drop * wanted / there


@lru_cache(maxsize=4_096)
def _interpolated(n_cases: float, repetitions: float, model: PairModel) -> float:
    """Return the drop between the nodes of the table, above p where none is found so often."""
    axes = (
        _weights((*SIZES, MIN_FORMULA_CASES), n_cases, is_inverse=True),
        _weights((1, *REPETITIONS), repetitions, is_inverse=True),
        _weights(PASS_RATES, model.p),
        _weights((*RHOS, 1.0), model.rho),
        _weights(KAPPAS, model.kappa),
    )
    total = 0.0
    for corner in itertools.product(*axes):
        (n, _), (m, _), (rate, _), (share, _), (shared, _) = corner
        weight = math.prod(part for _, part in corner)
        total += weight * n * _node(int(n), int(m), PairModel(rate, share, shared)) ** 2
    return math.sqrt(total / n_cases)


def _weights(
    nodes: Sequence[float], value: float, *, is_inverse: bool = False
) -> list[tuple[float, float]]:
    """Return the neighbours of a value among rising nodes, with their shares of it."""
    after = min(max(bisect_right(nodes, value), 1), len(nodes) - 1)
    low, high = nodes[after - 1], nodes[after]
    at = (
        (1 / value - 1 / low) / (1 / high - 1 / low) if is_inverse else (value - low) / (high - low)
    )
    return [(node, share) for node, share in ((low, 1 - at), (high, at)) if share]


@lru_cache(maxsize=4_096)
def _node(n_cases: int, repetitions: int, model: PairModel) -> float:
    """Return the drop at a node: of the formula, enumerated, or of the table."""
    if n_cases == MIN_FORMULA_CASES:
        found = model.formula(n_cases, repetitions, ALPHA, POWER)
        if found is not None:
            return found
        quantiles = t_quantile(1 - ALPHA / 2, n_cases - 1) + t_quantile(POWER, n_cases - 1)
        return max(quantiles * math.sqrt(model.variance(model.p, repetitions) / n_cases), model.p)
    if repetitions == 1 or model.rho == 1:
        return _enumerated(n_cases, model, ALPHA, POWER)
    return _drops()[_place(n_cases, repetitions, model)]


@lru_cache(maxsize=1)
def _drops() -> list[float]:
    """Return the table, in the order of `_place`."""
    drops: list[float] = json.loads(TABLE.read_bytes())["drops"]
    return drops


def _place(n_cases: int, repetitions: int, model: PairModel) -> int:
    """Return where the drop of a node is in the table: kappa counts fastest, one at a rho of 0."""
    place = SIZES.index(n_cases) * len(REPETITIONS) + REPETITIONS.index(repetitions)
    place = place * len(PASS_RATES) + PASS_RATES.index(model.p)
    place *= 1 + (len(RHOS) - 1) * len(KAPPAS)
    if model.rho == 0:
        return place
    return place + 1 + (RHOS.index(model.rho) - 1) * len(KAPPAS) + KAPPAS.index(model.kappa)


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
    return rate if interval is None or interval.estimate is None else interval.estimate


def _more(
    rate: float, n_cases: int, interval: Interval | None, beyond: Iterable[float]
) -> int | None:
    """Return the further cases until every bound lies outside the interval, with power 0.8.

    Wilson's interval is the inversion of the score test: a bound b lies outside the interval of a
    mean over cases p exactly when n (p - b)^2 >= z^2 b (1 - b), with n the effective number of
    trials (Wilson 1927; Brown, Cai, DasGupta 2001, section 3). That many cases would do it in half
    of the runs, since the next mean scatters around p; so n is such that it comes about with a
    power of 80 %, sqrt(n) |p - b| >= z sqrt(b (1 - b)) + z_power sqrt(p (1 - p)) (Fleiss, Levin &
    Paik 2003, chapter 4), for both bounds of a tier that has two. Further cases are taken to be
    like those there are, so that each brings as much as one of them did.
    """
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
    return None if total > MAX_CASES else max(total - n_cases, 1)

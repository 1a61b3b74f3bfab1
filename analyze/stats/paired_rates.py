"""The interval and the one test of a rate difference over the same cases, and its margin.

Wilson's interval of each side is carried over to the difference with the correlation of the case
rates (MOVER), in closed forms. Where the interval and the test disagree, the test decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from operator import sub
from statistics import NormalDist
from typing import Literal, NamedTuple

from analyze.stats.exact_tests import Counts, PairedCounts, paired_counts, sign_flip, within_case_p
from analyze.stats.intervals import MIN_CASES, Z90, Z95, effective_trials, mean_rate, wilson
from analyze.stats.paired_means import paired_t

Z_POWER = NormalDist().inv_cdf(0.8)
"""Normal quantile of a power of 80 %: 0.8416."""


MIN_MARGIN = 0.01
"""However near a rate is to 0 or 1: a margin of less than a point would take thousands of cases."""

ROUNDING = 1e-12
"""A share that a division blurred is neither above nor below its limit."""

MAX_Z = 37.0
"""Beyond it a level is below the range of floats."""

HALVINGS = 50
"""Of `MAX_Z`: past the precision of a level."""

TestName = Literal["sign_flip_mid_p", "sign_flip_normal", "intersection_union"]


@dataclass(frozen=True)
class RateInterval:
    """Mean difference of the case rates, candidate minus base, with limits of 95 and 90 %."""

    difference: float
    low: float
    high: float
    low90: float
    high90: float
    n_cases: int


@dataclass(frozen=True)
class _Side:
    """Case rates of one side, their mean, and the effective number of trials behind it."""

    rates: list[float]
    mean: float
    squares: float
    n_eff: float


class _Both(NamedTuple):
    """Both sides, the mean of their differences, and their correlation, shrunk."""

    base: _Side
    candidate: _Side
    difference: float
    r: float


def rate_difference(
    k_a: Iterable[float], m_a: Iterable[float], k_b: Iterable[float], m_b: Iterable[float]
) -> RateInterval | None:
    """Return the difference with its intervals, or None below two cases.

    Never zero wide and never outside -1 and 1. Newcombe 1998 (Stat. Med. 17:2635), method 10, and
    Zou & Donner 2008, on effective numbers of trials; the correlation is shrunk by 1 - 1/n.

    Raises:
        ValueError: the counts are no pairs, as `paired_counts` takes them.
    """
    both = _both(paired_counts(k_a, m_a, k_b, m_b))
    if both is None:
        return None
    low, high = _limits(*both, Z95)
    low90, high90 = _limits(*both, Z90)
    return RateInterval(both.difference, low, high, low90, high90, len(both.base.rates))


def p_excluding_zero(
    k_a: Iterable[float], m_a: Iterable[float], k_b: Iterable[float], m_b: Iterable[float]
) -> float:
    """Return the level at which the interval of `rate_difference` just excludes 0, by bisection.

    Returns:
        1 for a difference of 0 and below two cases.

    Raises:
        ValueError: the counts are no pairs, as `paired_counts` takes them.
    """
    both = _both(paired_counts(k_a, m_a, k_b, m_b))
    if both is None or both.difference == 0:
        return 1.0
    excluded, z = 0.0, MAX_Z
    for _ in range(HALVINGS):
        middle = (excluded + z) / 2
        low, high = _limits(*both, middle)
        excluded, z = (excluded, middle) if low <= 0 <= high else (middle, z)
    return math.erfc(z / math.sqrt(2))


def margin_at(base_rate: float, margin: float) -> float:
    """Return the margin at a rate of the base, which is smaller near 0 and 1.

    Where two of a hundred trials fail, twice as many failures are no small thing.

    Args:
        base_rate: between 0 and 1.
        margin: away from the ends, as a share.
    """
    room = max(MIN_MARGIN, min(base_rate, 1 - base_rate))
    return room if room < margin - ROUNDING else margin


def _both(pairs: PairedCounts) -> _Both | None:
    """Return what the limits follow from, or None below two cases."""
    n_cases = len(pairs.k_a)
    if n_cases < MIN_CASES:
        return None
    base, candidate = _side(pairs.k_a, pairs.m_a), _side(pairs.k_b, pairs.m_b)
    r = _correlation(base, candidate) * (1 - 1 / n_cases)
    difference = math.fsum(map(sub, candidate.rates, base.rates)) / n_cases
    return _Both(base, candidate, difference, r)


def _side(k: Counts, m: Counts) -> _Side:
    """Return the mean of the case rates, and the effective trials of the interval of a rate."""
    rates = [passed / scored for passed, scored in zip(k, m, strict=True)]
    mean = mean_rate(rates)
    squares = math.fsum((rate - mean) ** 2 for rate in rates)
    return _Side(rates, mean, squares, effective_trials(rates, m))


def _correlation(base: _Side, candidate: _Side) -> float:
    """Return Pearson's correlation of the case rates, 0 where one side does not vary."""
    if base.squares == 0 or candidate.squares == 0:
        return 0.0
    shared = math.fsum(
        (before - base.mean) * (after - candidate.mean)
        for before, after in zip(base.rates, candidate.rates, strict=True)
    )
    return shared / math.sqrt(base.squares * candidate.squares)


def _limits(
    base: _Side, candidate: _Side, difference: float, r: float, z: float
) -> tuple[float, float]:
    low_a, high_a = wilson(base.mean, base.n_eff, z)
    low_b, high_b = wilson(candidate.mean, candidate.n_eff, z)
    down = _joined(candidate.mean - low_b, high_a - base.mean, r)
    up = _joined(high_b - candidate.mean, base.mean - low_a, r)
    return max(difference - down, -1.0), min(difference + up, 1.0)


def _joined(one: float, other: float, r: float) -> float:
    return math.sqrt(max(one**2 + other**2 - 2 * r * one * other, 0.0))


@dataclass(frozen=True, slots=True)
class RateTest:
    """A two-sided p, which test it is of, and how much stands behind it."""

    n_cases: int
    n_nonzero: int
    """Cases whose rate differs."""
    p: float
    test: TestName


def rate_test(
    k_a: Iterable[float], m_a: Iterable[float], k_b: Iterable[float], m_b: Iterable[float]
) -> RateTest:
    """Return the two-sided p of the mean difference of the case rates.

    As many trials on both sides of every case: `sign_flip`. Else the larger of `within_case_p` and
    `over_cases_p`, and never below 2^-n for n cases that differ, which is what as many equal signs
    reach: fewer than five cases that differ show nothing.

    With as many trials of every case on both sides, signs are exchangeable and the sign-flip test
    decides. With unequal numbers they are not: a case that was asked once differs by whole steps,
    one that was asked five times by fifths, and the flipped pattern is another one than chance
    would have made. Then two questions have to be answered alike, an intersection-union test
    (Berger 1982): do these cases differ (the permutation within cases), and would others (the
    interval over cases, or Student's t over them).

    Raises:
        ValueError: the counts are no pairs, as `paired_counts` takes them.
    """
    pairs = paired_counts(k_a, m_a, k_b, m_b)
    if list(pairs.m_a) == list(pairs.m_b):
        flipped = sign_flip(*pairs)
        return RateTest(flipped.n_cases, flipped.n_nonzero, flipped.p, flipped.test)
    n_nonzero = sum(a * n_b != b * n_a for a, n_a, b, n_b in zip(*pairs, strict=True))
    least = 2.0 ** -min(n_nonzero, 1_000)
    p = max(within_case_p(*pairs), over_cases_p(*pairs), least)
    return RateTest(len(pairs.k_a), n_nonzero, p, "intersection_union")


def over_cases_p(
    k_a: Iterable[float], m_a: Iterable[float], k_b: Iterable[float], m_b: Iterable[float]
) -> float:
    """Return the smaller p of two that take the cases as a sample: of the interval, and of t.

    Raises:
        ValueError: the counts are no pairs, as `paired_counts` takes them.
    """
    pairs = paired_counts(k_a, m_a, k_b, m_b)
    differences = [b / n_b - a / n_a for a, n_a, b, n_b in zip(*pairs, strict=True)]
    if sum(differences) < 0:  # to the last digit the same when the sides are exchanged
        pairs = PairedCounts(pairs.k_b, pairs.m_b, pairs.k_a, pairs.m_a)
    of_t = paired_t(differences)
    of_interval = p_excluding_zero(*pairs)
    return of_interval if of_t is None else min(of_interval, of_t.p)

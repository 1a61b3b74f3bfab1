"""The interval of a rate difference over the same cases, and the margin it is held against.

Wilson's interval of each side is carried over to the difference with the correlation of the case
rates (MOVER). Closed forms; the test of the same difference is `sign_flip`, which decides where
the two disagree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from operator import sub
from statistics import NormalDist
from typing import NamedTuple

from analyze.stats.intervals import (
    MIN_CASES,
    Z90,
    Z95,
    effective_trials,
    mean_rate,
    wilson,
)
from analyze.stats.paired_counts import Counts, PairedCounts, paired_counts

Z_POWER = NormalDist().inv_cdf(0.8)
"""Normal quantile of a power of 80 %: 0.8416."""


MIN_MARGIN = 0.01
"""However near a rate is to 0 or 1: a margin of less than a point would take thousands of cases."""

ROUNDING = 1e-12
"""A share that a division blurred is not below its limit."""

MAX_Z = 37.0
"""Beyond it a level is below the range of floats."""

HALVINGS = 50
"""Of `MAX_Z`: past the precision of a level."""


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

    Args:
        k_a: passed trials of each case of the base.
        m_a: its scored trials, at least one a case.
        k_b: passed trials of each case of the candidate.
        m_b: its scored trials, at least one a case.

    Raises:
        ValueError: the counts are no pairs (see `paired_counts`).
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

    Args:
        k_a: passed trials of each case of the base.
        m_a: its scored trials, at least one a case.
        k_b: passed trials of each case of the candidate.
        m_b: its scored trials, at least one a case.

    Returns:
        1 for a difference of 0 and below two cases.

    Raises:
        ValueError: the counts are no pairs (see `paired_counts`).
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
        margin: away from the ends.
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

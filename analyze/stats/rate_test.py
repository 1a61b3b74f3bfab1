"""The one test of a rate difference over the same cases.

With as many trials of every case on both sides, signs are exchangeable and the sign-flip test
decides. With unequal numbers they are not: a case that was asked once differs by whole steps, one
that was asked five times by fifths, and the flipped pattern is another one than chance would have
made. Then two questions have to be answered alike, an intersection-union test (Berger 1982): do
these cases differ (the permutation within cases), and would others (the interval over cases, or
Student's t over them).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from analyze.stats.exact_tests import sign_flip
from analyze.stats.mean_difference import paired_t
from analyze.stats.paired_counts import PairedCounts, paired_counts
from analyze.stats.paired_rates import p_excluding_zero
from analyze.stats.within_case import within_case_p

TestName = Literal["sign_flip_mid_p", "sign_flip_normal", "intersection_union"]


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

    Args:
        k_a: passed trials of each case of the base.
        m_a: its scored trials, at least one a case.
        k_b: passed trials of each case of the candidate.
        m_b: its scored trials, at least one a case.

    Raises:
        ValueError: the counts are no pairs (see `paired_counts`).
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

    Args:
        k_a: passed trials of each case of the base.
        m_a: its scored trials, at least one a case.
        k_b: passed trials of each case of the candidate.
        m_b: its scored trials, at least one a case.

    Raises:
        ValueError: the counts are no pairs (see `paired_counts`).
    """
    pairs = paired_counts(k_a, m_a, k_b, m_b)
    differences = [b / n_b - a / n_a for a, n_a, b, n_b in zip(*pairs, strict=True)]
    if sum(differences) < 0:  # to the last digit the same when the sides are exchanged
        pairs = PairedCounts(pairs.k_b, pairs.m_b, pairs.k_a, pairs.m_a)
    of_t = paired_t(differences)
    of_interval = p_excluding_zero(*pairs)
    return of_interval if of_t is None else min(of_interval, of_t.p)

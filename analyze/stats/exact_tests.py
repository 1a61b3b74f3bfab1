"""The test of a rate difference where every case has as many trials on both sides.

Would the same differences with random signs be as far off? If the two sides are alike, every case's
difference could as well have had the other sign. The exact distribution of the sum over all sign
patterns follows by convolution. At one repetition this is McNemar's test with mid-p. Fisher 1935
for the test, Pagano & Tritchler 1983 for the convolution, Fagerland, Lydersen & Laake 2013 for
mid-p.
"""

from __future__ import annotations

import math
import operator
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import Any, Literal

from analyze.stats.paired_counts import Counts, PairedCounts, paired_counts

MOST_NONZERO = 2_000
"""Pairs up to which the distribution is exact; `ONE_PATTERN` leaves no room for more."""

MOST_LCM = 840
"""Common denominator up to which the distribution is exact."""

MOST_ENUMERATED = 16
"""Pairs that differ up to which every sum of signs is counted, whatever the denominator: a limit
for many pairs would let four of them reach 0.05, which no pattern of their signs does."""

MOST_LISTED = 1_000_000
"""Additions up to which lists are quicker than to load numpy."""

ONE_PATTERN = 2.0**-1000
"""Weight of one pattern of signs: those of `MOST_NONZERO` pairs still add up to a float, 2^1000."""

SMALLEST_P = sys.float_info.min
"""A p below the range of floats is given as this, since no pattern of signs is impossible."""


@dataclass(frozen=True)
class SignFlip:
    """What the test says; `p` is the mid-p, `full_p` stands beside it."""

    n_cases: int
    n_nonzero: int
    p: float
    full_p: float
    test: Literal["sign_flip_mid_p", "sign_flip_normal"]


def sign_flip(
    k_a: Iterable[float], m_a: Iterable[float], k_b: Iterable[float], m_b: Iterable[float]
) -> SignFlip:
    """Return the two-sided p of the summed differences of the case rates.

    p is the mid-p, P(|S| > |s|) + P(|S| = |s|) / 2. Above `MOST_NONZERO` pairs that differ, or
    above `MOST_LCM` and `MOST_ENUMERATED` pairs, it is the normal limit sum(d) / sqrt(sum(d^2)),
    and the two are one. Without a pair that differs, p is 1. Signs are exchangeable only where each
    case has as many trials on both sides: `analyze.stats.rate_test` sees to that.

    Args:
        k_a: passed trials of each case of the base.
        m_a: its scored trials, at least one a case.
        k_b: passed trials of each case of the candidate.
        m_b: its scored trials, at least one a case.

    Raises:
        ValueError: the counts are no pairs (see `paired_counts`).
    """
    pairs = paired_counts(k_a, m_a, k_b, m_b)
    differs = [a * n_b != b * n_a for a, n_a, b, n_b in zip(*pairs, strict=True)]
    nonzero = PairedCounts(*(list(compress(counts, differs)) for counts in pairs))
    n_cases, n_nonzero = len(differs), len(nonzero.k_a)
    denominator = math.lcm(*nonzero.m_a, *nonzero.m_b)
    is_coarse = denominator <= MOST_LCM
    if n_nonzero > (MOST_NONZERO if is_coarse else MOST_ENUMERATED):
        p = _normal_p(nonzero)
        return SignFlip(n_cases, n_nonzero, p, p, "sign_flip_normal")
    mid_p, full_p = (_exact_ps if is_coarse else _counted_ps)(_scaled(nonzero, denominator))
    return SignFlip(n_cases, n_nonzero, mid_p, full_p, "sign_flip_mid_p")


def _scaled(pairs: PairedCounts, denominator: int) -> Counts:
    """Return the differences as the smallest whole numbers in the same proportions."""
    differences = [
        b * (denominator // n_b) - a * (denominator // n_a)
        for a, n_a, b, n_b in zip(*pairs, strict=True)
    ]
    common = math.gcd(*differences)
    return [difference // common for difference in differences]


def _exact_ps(differences: Counts) -> tuple[float, float]:
    """Return mid-p and full p of whole differences, none of them zero.

    S = 2 U - T with T the sum of all |d| and U that of the positive ones, so that |S| >= |s| is
    U <= (T - |s|) / 2 or its mirror image: half of the distribution is enough. Patterns are counted
    by additions of numbers that are not negative; so every count is right to one part in 2^53 a
    step, 2.3e-13 after `MOST_NONZERO` of them, in the far tails too.
    """
    if not differences:
        return 1.0, 1.0
    weights, observed = sorted(map(abs, differences)), abs(sum(differences))
    last = (sum(weights) - observed) // 2
    patterns = _patterns([weight for weight in weights if weight <= last], last)
    share = partial(_share, n_nonzero=len(weights))
    at, beyond = share(patterns[-1]), share(math.fsum(patterns[:-1]))
    if observed == 0:
        return 1 - at / 2, 1.0
    return max(2 * beyond + at, SMALLEST_P), max(2 * (beyond + at), SMALLEST_P)


def _counted_ps(differences: Counts) -> tuple[float, float]:
    """Return mid-p and full p of a few whole differences of any size, none of them zero."""
    sums = Counter({0: 1})
    for difference in differences:
        more: Counter[int] = Counter()
        for total, patterns in sums.items():
            more[total + difference] += patterns
            more[total - difference] += patterns
        sums = more
    observed = abs(sum(differences))
    at = sum(patterns for total, patterns in sums.items() if abs(total) == observed)
    beyond = sum(patterns for total, patterns in sums.items() if abs(total) > observed)
    every = 2 ** len(differences)
    return (2 * beyond + at) / (2 * every), (beyond + at) / every


def _patterns(weights: Counts, last: int) -> Sequence[float]:
    """Return how many patterns of signs have each U up to `last`, times `ONE_PATTERN`."""
    patterns, added = _zeros(last + 1, len(weights))
    patterns[0] = ONE_PATTERN
    reach = 0
    for weight in weights:
        reach = min(reach + weight, last)
        more = added(patterns[weight : reach + 1], patterns[: reach + 1 - weight])
        patterns[weight : reach + 1] = more
    found: Sequence[float] = patterns
    return found


def _zeros(size: int, n_weights: int) -> tuple[Any, Callable[[Any, Any], Any]]:
    """Return so many zeros, and what adds two ranges of them: a list, or an array if it pays."""
    if size * n_weights <= MOST_LISTED:
        return [0.0] * size, partial(map, operator.add)
    import numpy as np  # noqa: PLC0415 - loading it takes as long as a million additions

    return np.zeros(size), np.add


def _share(patterns: float, n_nonzero: int) -> float:
    """Return the share among the 2^n patterns there are, each of which weighs `ONE_PATTERN`."""
    return math.ldexp(patterns, 1_000 - n_nonzero)


def _normal_p(pairs: PairedCounts) -> float:
    differences = [b / n_b - a / n_a for a, n_a, b, n_b in zip(*pairs, strict=True)]
    z = abs(math.fsum(differences)) / math.sqrt(math.fsum(d * d for d in differences))
    return max(math.erfc(z / math.sqrt(2)), SMALLEST_P)

"""The exact permutation test within cases: do these very cases differ between two sides?

If the two sides of a case are alike, its passes fell on its trials by chance, so the passes of the
candidate are hypergeometric given all passes of the case. The distribution of the summed
differences of the case rates follows by convolution over the cases. Fisher 1935 for the test,
Pagano & Tritchler 1983 for the convolution. It holds for any numbers of trials, and says nothing
about other cases.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby
from typing import Any, NamedTuple

from analyze.stats.exact_tests import SMALLEST_P
from analyze.stats.paired_counts import PairedCounts, paired_counts

MAX_LISTED = 1_000_000
"""Additions up to which lists are quicker than to load numpy."""

MAX_WORK = 50_000_000
"""Additions up to which the distribution is exact, about a tenth of a second; then the normal
limit."""


class _Case(NamedTuple):
    """One case that could have come out otherwise, seen from the candidate's most passes."""

    step: int
    """Distance by which one pass fewer of the candidate lowers the sum."""
    missed: int
    """Passes that the candidate has fewer than it could have."""
    chances: tuple[float, ...]
    """Of 0, 1, 2 ... passes fewer."""
    variance: float
    """Of the difference of the case rates."""


def within_case_p(
    k_a: Iterable[float], m_a: Iterable[float], k_b: Iterable[float], m_b: Iterable[float]
) -> float:
    """Return the two-sided mid-p of the summed differences: twice their own tail, at most 1.

    Unequal numbers of trials make the distribution skew, so that tail is doubled rather than both
    tails added: each side keeps half of the level. Above `MAX_WORK` it is the normal limit.

    Args:
        k_a: passed trials of each case of the base.
        m_a: its scored trials, at least one a case.
        k_b: passed trials of each case of the candidate.
        m_b: its scored trials, at least one a case.

    Raises:
        ValueError: the counts are no pairs (see `paired_counts`).
    """
    pairs = paired_counts(k_a, m_a, k_b, m_b)
    scale = math.lcm(*pairs.m_a, *pairs.m_b)
    total = _sum_of_differences(pairs, scale)
    if total == 0:
        return 1.0
    if total < 0:
        pairs = PairedCounts(pairs.k_b, pairs.m_b, pairs.k_a, pairs.m_a)
    cases = sorted(
        _case(a, n_a, b, n_b, scale)
        for a, n_a, b, n_b in zip(*pairs, strict=True)
        if 0 < a + b < n_a + n_b
    )
    common = math.gcd(*(case.step for case in cases))
    missed = sum(case.missed * case.step for case in cases) // common
    work = (missed + 1) * sum(len(case.chances) for case in cases)
    if work > MAX_WORK:
        z = abs(total) / scale / math.sqrt(math.fsum(case.variance for case in cases))
        return max(math.erfc(z / math.sqrt(2)), SMALLEST_P)
    below, at = _tail(cases, common, missed, is_short=work <= MAX_LISTED)
    return min(max(2 * below + at, SMALLEST_P), 1.0)


def _sum_of_differences(pairs: PairedCounts, scale: int) -> int:
    return sum(
        b * (scale // n_b) - a * (scale // n_a) for a, n_a, b, n_b in zip(*pairs, strict=True)
    )


def _case(a: int, n_a: int, b: int, n_b: int, scale: int) -> _Case:
    passed, trials = a + b, n_a + n_b
    most, least = min(passed, n_b), max(0, passed - n_a)
    ways = math.comb(trials, passed)
    return _Case(
        step=scale // n_a + scale // n_b,
        missed=most - b,
        chances=tuple(
            math.comb(n_b, k) * math.comb(n_a, passed - k) / ways
            for k in range(most, least - 1, -1)
        ),
        variance=passed * (trials - passed) / ((trials - 1) * n_a * n_b),
    )


def _tail(cases: list[_Case], common: int, missed: int, *, is_short: bool) -> tuple[float, float]:
    """Return the chance of a larger sum than was seen, and of this very one.

    The sum is counted down from the largest there is, `missed` steps to the one that was seen, so
    what lies beyond is never worked out. Cases of one step are summed in that step, since nothing
    lies between its multiples, and of the last ones only the tail is asked for. All terms are
    positive: the far tail is as exact as the middle.
    """
    whole = _nothing(is_short=is_short)
    terms: list[tuple[int, Any]] = []
    for wide, same in groupby(cases, key=lambda case: case.step):
        step = wide // common
        own = _nothing(is_short=is_short)
        for case in same:
            own = _added(own, case.chances, 1, missed // step + 1, is_short=is_short)
        terms.append((step, own))
    *others, (step, last) = terms
    for wide, own in others:
        whole = _added(whole, own, wide, missed + 1, is_short=is_short)
    up_to = [0.0, *accumulate(map(float, whole))]
    left = range(missed, -1, -step)
    below = (
        chance * up_to[min(rest, len(whole))] for rest, chance in zip(left, last, strict=False)
    )
    at = (
        chance * whole[rest] for rest, chance in zip(left, last, strict=False) if rest < len(whole)
    )
    return math.fsum(below), math.fsum(at)


def _added(sums: Any, chances: Sequence[float], step: int, size: int, *, is_short: bool) -> Any:
    """Return the chances of a sum with one more term, of the values 0 to `size` - 1.

    Args:
        sums: chance of each value of the sum so far, from 0 on.
        chances: of the values 0, step, 2 step ... of the term.
        step: between the values of the term.
        size: how many values are asked for.
        is_short: lists rather than arrays.
    """
    after = _no_sums(min(len(sums) + (len(chances) - 1) * step, size), is_short=is_short)
    for place, chance in enumerate(chances):
        start = place * step
        if start >= len(after):
            break
        end = min(start + len(sums), len(after))
        some = sums[: end - start]
        if is_short:
            after[start:end] = map(operator.add, after[start:end], map(chance.__mul__, some))
        else:
            after[start:end] += chance * some
    return after


def _no_sums(size: int, *, is_short: bool) -> Any:
    """Return so many zeros: a list, or an array where that pays."""
    if is_short:
        return [0.0] * size
    import numpy as np  # noqa: PLC0415 - loading it takes as long as a million additions

    return np.zeros(size)


def _nothing(*, is_short: bool) -> Any:
    """Return the chances of a sum of no terms: it is 0."""
    cells = _no_sums(1, is_short=is_short)
    cells[0] = 1.0
    return cells

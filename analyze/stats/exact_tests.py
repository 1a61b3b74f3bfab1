"""Exact tests of a rate difference over the same cases, on four lists of counts, checked once.

`sign_flip` is for cases with as many trials on both sides, `within_case_p` for any numbers of them.
Every formula for two runs starts from these lists. A case without a verdict on one side is no pair:
whoever pairs the cases leaves it out and lists it, so here it is a mistake. Plain lists, since
numpy takes longer to load than most comparisons to compute.
"""

from __future__ import annotations

import math
import operator
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, compress, groupby
from operator import gt
from typing import Any, Literal, NamedTuple

Counts = Sequence[int]

MAX_NONZERO = 2_000
"""Pairs up to which the distribution is exact; `ONE_PATTERN` leaves no room for more."""

MAX_LCM = 840
"""Common denominator up to which the distribution is exact."""

MAX_ENUMERATED = 16
"""Pairs that differ up to which every sum of signs is counted, whatever the denominator: a limit
for many pairs would let four of them reach 0.05, which no pattern of their signs does."""

ONE_PATTERN = 2.0**-1000
"""Weight of one pattern of signs: those of `MAX_NONZERO` pairs still add up to a float, 2^1000."""

MIN_P = sys.float_info.min
"""A p below the range of floats is given as this, since no pattern of signs is impossible."""

MAX_LISTED = 1_000_000
"""Additions up to which lists are quicker than to load numpy."""

MAX_WORK = 50_000_000
"""Additions up to which the distribution is exact, about a tenth of a second; then the normal
limit."""


class PairedCounts(NamedTuple):
    """Passed (`k`) and scored (`m`) trials of each case, of base (a) and candidate (b)."""

    k_a: Counts
    m_a: Counts
    k_b: Counts
    m_b: Counts


def paired_counts(
    k_a: Iterable[float], m_a: Iterable[float], k_b: Iterable[float], m_b: Iterable[float]
) -> PairedCounts:
    """Return the four lists as whole numbers.

    Args:
        k_a: passed trials of each case of the base.
        m_a: its scored trials, at least one a case.
        k_b: passed trials of each case of the candidate.
        m_b: its scored trials, at least one a case.

    Raises:
        ValueError: they are not of one length, a count is not whole, a case has no scored trial on
            one side, or it has more passes than trials.
    """
    counts = PairedCounts(_whole(k_a), _whole(m_a), _whole(k_b), _whole(m_b))
    sizes = [len(each) for each in counts]
    if len(set(sizes)) != 1:
        message = f"each case needs all four counts, got {sizes} of them"
        raise ValueError(message)
    for passed, scored in (counts[:2], counts[2:]):
        if min(scored, default=1) < 1:
            message = "a pair has scored trials on both sides, got a case with none"
            raise ValueError(message)
        if min(passed, default=0) < 0 or any(map(gt, passed, scored)):
            message = "passes lie between 0 and the scored trials, got a case where they do not"
            raise ValueError(message)
    return counts


def _whole(values: Iterable[float]) -> list[int]:
    try:
        given = list(values)
        counts = [int(value) for value in given]
    except (TypeError, ValueError, OverflowError) as exc:
        raise ValueError(_not_whole(values)) from exc
    if counts != given:
        raise ValueError(_not_whole(values))
    return counts


def _not_whole(values: Iterable[float]) -> str:
    return f"counts are whole numbers, one a case, got {values!r}"


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

    p is the mid-p, P(|S| > |s|) + P(|S| = |s|) / 2. Above `MAX_NONZERO` pairs that differ, or
    above `MAX_LCM` and `MAX_ENUMERATED` pairs, it is the normal limit sum(d) / sqrt(sum(d^2)),
    and the two are one. Without a pair that differs, p is 1. Signs are exchangeable only where each
    case has as many trials on both sides: `analyze.stats.paired_rates` sees to that.

    Would the same differences with random signs be as far off? If the two sides are alike, every
    case's difference could as well have had the other sign. The exact distribution of the sum over
    all sign patterns follows by convolution. At one repetition this is McNemar's test with mid-p.
    Fisher 1935 for the test, Pagano & Tritchler 1983 for the convolution, Fagerland, Lydersen &
    Laake 2013 for mid-p.

    Raises:
        ValueError: the counts are no pairs, as `paired_counts` takes them.
    """
    pairs = paired_counts(k_a, m_a, k_b, m_b)
    differs = [a * n_b != b * n_a for a, n_a, b, n_b in zip(*pairs, strict=True)]
    nonzero = PairedCounts(*(list(compress(counts, differs)) for counts in pairs))
    n_cases, n_nonzero = len(differs), len(nonzero.k_a)
    denominator = math.lcm(*nonzero.m_a, *nonzero.m_b)
    is_coarse = denominator <= MAX_LCM
    if n_nonzero > (MAX_NONZERO if is_coarse else MAX_ENUMERATED):
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
    step, 2.3e-13 after `MAX_NONZERO` of them, in the far tails too.
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
    return max(2 * beyond + at, MIN_P), max(2 * (beyond + at), MIN_P)


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
    is_short = (last + 1) * len(weights) <= MAX_LISTED
    patterns = _zeros(last + 1, is_short=is_short)
    patterns[0] = ONE_PATTERN
    reach = 0
    for weight in weights:
        reach = min(reach + weight, last)
        beyond, before = patterns[weight : reach + 1], patterns[: reach + 1 - weight]
        patterns[weight : reach + 1] = (
            map(operator.add, beyond, before) if is_short else beyond + before
        )
    found: Sequence[float] = patterns
    return found


def _share(patterns: float, n_nonzero: int) -> float:
    """Return the share among the 2^n patterns there are, each of which weighs `ONE_PATTERN`."""
    return math.ldexp(patterns, 1_000 - n_nonzero)


def _normal_p(pairs: PairedCounts) -> float:
    differences = [b / n_b - a / n_a for a, n_a, b, n_b in zip(*pairs, strict=True)]
    z = abs(math.fsum(differences)) / math.sqrt(math.fsum(d * d for d in differences))
    return max(math.erfc(z / math.sqrt(2)), MIN_P)


class _Case(NamedTuple):
    """One case that could have come out otherwise, seen from the candidate's most passes."""

    step: int
    """Distance by which one pass fewer of the candidate lowers the sum."""
    missed: int
    """Passes that the candidate has fewer than it could have."""
    n_a: int
    n_b: int
    passed: int
    """Trials of both sides that passed."""

    @property
    def most(self) -> int:
        """Passes that the candidate can have."""
        return min(self.passed, self.n_b)

    @property
    def least(self) -> int:
        """Passes that the candidate has at least."""
        return max(0, self.passed - self.n_a)

    @property
    def variance(self) -> float:
        """Of the difference of the case rates."""
        trials = self.n_a + self.n_b
        return self.passed * (trials - self.passed) / ((trials - 1) * self.n_a * self.n_b)

    def chances(self) -> tuple[float, ...]:
        """Return those of 0, 1, 2 ... passes fewer."""
        ways = math.comb(self.n_a + self.n_b, self.passed)
        return tuple(
            math.comb(self.n_b, k) * math.comb(self.n_a, self.passed - k) / ways
            for k in range(self.most, self.least - 1, -1)
        )


def within_case_p(
    k_a: Iterable[float], m_a: Iterable[float], k_b: Iterable[float], m_b: Iterable[float]
) -> float:
    """Return the two-sided mid-p of the summed differences: twice their own tail, at most 1.

    Unequal numbers of trials make the distribution skew, so that tail is doubled rather than both
    tails added: each side keeps half of the level. Above `MAX_WORK` it is the normal limit.

    The exact permutation test within cases: do these very cases differ between two sides? If the
    two sides of a case are alike, its passes fell on its trials by chance, so the passes of the
    candidate are hypergeometric given all passes of the case. The distribution of the summed
    differences of the case rates follows by convolution over the cases. Fisher 1935 for the test,
    Pagano & Tritchler 1983 for the convolution. It holds for any numbers of trials, and says
    nothing about other cases.

    Raises:
        ValueError: the counts are no pairs, as `paired_counts` takes them.
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
    work = (missed + 1) * sum(case.most - case.least + 1 for case in cases)
    if work > MAX_WORK:
        z = abs(total) / scale / math.sqrt(math.fsum(case.variance for case in cases))
        return max(math.erfc(z / math.sqrt(2)), MIN_P)
    below, at = _tail(cases, common, missed, is_short=work <= MAX_LISTED)
    return min(max(2 * below + at, MIN_P), 1.0)


def _sum_of_differences(pairs: PairedCounts, scale: int) -> int:
    return sum(
        b * (scale // n_b) - a * (scale // n_a) for a, n_a, b, n_b in zip(*pairs, strict=True)
    )


def _case(a: int, n_a: int, b: int, n_b: int, scale: int) -> _Case:
    return _Case(scale // n_a + scale // n_b, min(a + b, n_b) - b, n_a, n_b, a + b)


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
            own = _added(own, case.chances(), 1, missed // step + 1, is_short=is_short)
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
    after = _zeros(min(len(sums) + (len(chances) - 1) * step, size), is_short=is_short)
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


def _zeros(size: int, *, is_short: bool) -> Any:
    """Return so many zeros: a list, or an array where that pays."""
    if is_short:
        return [0.0] * size
    import numpy as np  # noqa: PLC0415 - loading it takes as long as a million additions

    return np.zeros(size)


def _nothing(*, is_short: bool) -> Any:
    """Return the chances of a sum of no terms: it is 0."""
    cells = _zeros(1, is_short=is_short)
    cells[0] = 1.0
    return cells

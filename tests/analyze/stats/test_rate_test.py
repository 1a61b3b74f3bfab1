"""The test of a rate difference where repetitions are unequal, and whom a best model leaves alone.

Against plain enumeration, scipy, and draws in which nothing differs.
"""

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, ttest_1samp

from analyze.stats import exact_tests
from analyze.stats.exact_tests import sign_flip, within_case_p
from analyze.stats.paired_rates import over_cases_p, p_excluding_zero, rate_difference, rate_test
from analyze.stats.rates import RankedModel, is_ranked, may_be_best
from benchmarks.rate_tests import left_out, wrong_at_unequal
from tests.support.cpu_time import loops

ONE_THEN_FIVE = [1] * 30, [1] * 30, [5] * 22 + [4] * 8, [5] * 30
"""All passed when asked once, then eight cases at four of five: the rate fell by 5.3 points."""


def _counts(most):
    return st.integers(1, most).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m)))


PAIRS = st.lists(st.tuples(_counts(6), _counts(6)), min_size=2, max_size=30)
FEW = st.lists(st.tuples(_counts(3), _counts(3)), min_size=1, max_size=3)


def arrays(cases):
    return [[side[part] for side in sides] for sides in zip(*cases, strict=True) for part in (0, 1)]


def dealt(cases):
    """Hand the passes of each case to its trials in every way there is; the tail doubled, mid-p."""
    ways = {Fraction(0): 1}
    for (k_a, m_a), (k_b, m_b) in cases:
        after = defaultdict(int)
        for chosen in itertools.combinations(range(m_a + m_b), k_a + k_b):
            of_a = sum(trial < m_a for trial in chosen)
            d = Fraction(len(chosen) - of_a, m_b) - Fraction(of_a, m_a)
            for total, n in ways.items():
                after[total + d] += n
        ways = after
    s = sum(Fraction(*b) - Fraction(*a) for a, b in cases)
    if s == 0:
        return 1.0
    beyond = sum(n for one, n in ways.items() if (one > s if s > 0 else one < s))
    return min(float(Fraction(2 * beyond + ways[s], sum(ways.values()))), 1.0)


@given(FEW)
@settings(max_examples=25, deadline=None)
def test_within_cases_it_is_every_way_to_deal_the_passes_written_down(cases):
    assert within_case_p(*arrays(cases)) == pytest.approx(dealt(cases), rel=1e-9)


@given(PAIRS)
@settings(max_examples=25, deadline=None)
def test_exchanged_sides_and_another_order_of_the_cases_have_the_same_p(cases):
    k_a, m_a, k_b, m_b = arrays(cases)

    found = rate_test(k_a, m_a, k_b, m_b)

    assert found == rate_test(k_b, m_b, k_a, m_a) == rate_test(*arrays(cases[::-1]))
    assert 0 < found.p <= 1
    assert found.p >= 2.0**-found.n_nonzero
    assert found.n_nonzero > 4 or found.p > 0.05


@given(PAIRS)
@settings(max_examples=25, deadline=None)
def test_unequal_repetitions_ask_within_cases_and_over_them(cases):
    k_a, m_a, k_b, m_b = arrays(cases)
    d = [Fraction(b, n) - Fraction(a, m) for a, m, b, n in zip(k_a, m_a, k_b, m_b, strict=True)]

    found = rate_test(k_a, m_a, k_b, m_b)

    if m_a == m_b:
        flipped = sign_flip(k_a, m_a, k_b, m_b)
        assert (found.p, found.test) == (flipped.p, flipped.test)
        return
    over = p_excluding_zero(k_a, m_a, k_b, m_b)
    if len(set(d)) > 1 and len(d) >= 5:
        over = min(over, ttest_1samp([float(one) for one in d], 0).pvalue)
        assert over_cases_p(k_a, m_a, k_b, m_b) == pytest.approx(over, rel=1e-6, abs=1e-9)
        within = within_case_p(k_a, m_a, k_b, m_b)
        assert found.p == pytest.approx(max(within, over, 2.0**-found.n_nonzero), rel=1e-6)
    assert found.test == "intersection_union"


@given(PAIRS)
@settings(max_examples=25, deadline=None)
def test_the_interval_excludes_zero_just_where_its_p_is_below_the_level(cases):
    counts = arrays(cases)
    i, p = rate_difference(*counts), p_excluding_zero(*counts)

    for low, high, level in ((i.low, i.high, 0.05), (i.low90, i.high90, 0.10)):
        if abs(p - level) > 1e-9:
            assert (low > 0 or high < 0) == (p < level)


def test_equal_repetitions_of_each_case_need_not_be_those_of_another():
    m = [1, 2, 3, 4, 5, 6] * 3

    found = rate_test(m, m, [0] * 18, m)

    assert (found.test, found.p) == ("sign_flip_mid_p", 2.0**-18)


def test_few_cases_of_awkward_repetitions_are_counted_pattern_by_pattern():
    m = [29, 31, 37, 41]
    before, after = [10, 12, 20, 7], [14, 13, 18, 30]
    differences = [Fraction(b - a, n) for a, b, n in zip(before, after, m, strict=True)]
    sums = [
        abs(sum(sign * one for sign, one in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=4)
    ]
    at = sum(one == abs(sum(differences)) for one in sums)
    beyond = sum(one > abs(sum(differences)) for one in sums)

    found = sign_flip(before, m, after, m)

    assert (found.p, found.full_p) == ((beyond + at / 2) / 16, (beyond + at) / 16)
    assert (found.n_cases, found.n_nonzero, found.test) == (4, 4, "sign_flip_mid_p")


def test_wrong_5_eight_cases_at_four_of_five_after_one_trial_each_are_no_drop():
    found = rate_test(*ONE_THEN_FIVE)

    assert sign_flip(*ONE_THEN_FIVE).full_p < 0.01
    assert found.p == pytest.approx((5 / 6) ** 8, rel=1e-12)


def test_far_tails_keep_their_precision_and_no_p_is_zero():
    n = 40
    found = within_case_p([3] * n, [3] * n, [0] * n, [2] * n)

    assert found == pytest.approx(0.1**n, rel=1e-12)
    assert within_case_p([3] * 900, [3] * 900, [0] * 900, [2] * 900) == exact_tests.MIN_P


def test_the_normal_limit_takes_over_where_exactness_costs_too_much(monkeypatch):
    rng = np.random.default_rng(4)
    m_a, m_b = rng.integers(17, 22, 200), rng.integers(2, 4, 200)
    counts = rng.binomial(m_a, 0.8), m_a, rng.binomial(m_b, 0.72), m_b
    found = []

    cost = loops(lambda: found.append(within_case_p(*counts)))

    assert cost < 50
    (limit,) = found
    total = (counts[0] + counts[2]) / (m_a + m_b)
    variance = total * (1 - total) * (m_a + m_b) / (m_a + m_b - 1) * (1 / m_a + 1 / m_b)
    z = (counts[2] / m_b - counts[0] / m_a).sum() / math.sqrt(variance.sum())
    assert limit == pytest.approx(2 * norm.sf(abs(z)), rel=1e-9)
    few = [[10] * 40, [21] * 40, [1] * 32 + [2] * 8, [3] * 40]
    exact = within_case_p(*few)
    monkeypatch.setattr(exact_tests, "MAX_WORK", 0)
    assert within_case_p(*few) == pytest.approx(exact, rel=0.15)


def test_lists_and_arrays_count_the_same(monkeypatch):
    rng = np.random.default_rng(5)
    m_a, m_b = rng.choice((6, 7), 60), rng.choice((2, 3), 60)
    counts = rng.binomial(m_a, 0.8), m_a, rng.binomial(m_b, 0.7), m_b
    monkeypatch.setattr(exact_tests, "MAX_LISTED", 10**9)
    listed = within_case_p(*counts)

    monkeypatch.setattr(exact_tests, "MAX_LISTED", 0)
    assert within_case_p(*counts) == pytest.approx(listed, rel=1e-12)


@pytest.mark.parametrize(
    ("n_cases", "m_a", "m_b", "rate", "interaction"),
    [(20, 1, 5, 0.8, 1.5), (50, 1, 10, 0.5, 1.5), (50, 3, 7, 0.8, 1.5), (50, 7, 1, 0.95, 0.0)],
)
def test_unequal_repetitions_of_the_same_are_rarely_called_different(
    n_cases, m_a, m_b, rate, interaction
):
    wrong = wrong_at_unequal(n_cases, m_a, m_b, rate, interaction, draws=500)

    assert max(wrong) <= 0.04 + 3 * math.sqrt(0.04 * 0.96 / 500)


# The best of several


def ranked(*passed, m=1):
    return RankedModel(
        sum(passed) / (m * len(passed)), {case: (k, m) for case, k in enumerate(passed)}
    )


def test_a_model_is_left_out_when_the_same_cases_show_it_to_be_worse():
    best, near, far = (ranked(*[1] * n, *[0] * (40 - n)) for n in (38, 35, 15))

    assert may_be_best([far, best, near]) == [False, True, True]


def test_more_models_are_more_chances_to_be_the_best_by_luck():
    """Nine cases apart: p 1/512, times the pairs of two or of eight models."""
    best, other = ranked(*[1] * 30), ranked(*[1] * 21, *[0] * 9)

    assert may_be_best([best, other]) == [True, False]
    assert may_be_best([best, *[other] * 7]) == [True] * 8


def test_models_of_one_rate_are_best_together_and_cases_not_shared_tell_nothing():
    high, same = ranked(*[1] * 20), ranked(*[1] * 20)
    elsewhere = RankedModel(0.1, {f"other {n}": (0, 1) for n in range(30)})

    assert may_be_best([high, same, elsewhere]) == [True] * 3
    assert may_be_best([]) == []
    assert may_be_best([ranked(0, 0)]) == [True]


def test_a_model_that_is_better_on_the_shared_cases_is_never_left_out():
    easy = RankedModel(0.9, {case: (0 if case < 20 else 1, 1) for case in range(200)})
    hard = RankedModel(0.5, dict.fromkeys(range(20), (1, 1)))

    assert may_be_best([easy, hard]) == [True, True]


def test_wrong_9_ten_equal_models_are_named_together_in_nineteen_of_twenty_draws():
    assert left_out(30, 3, 0.8, 0.0, draws=300) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize(
    ("n_units", "coverage", "is_named"),
    [
        (5, 1.0, True), (4, 1.0, False), (5, 0.95, True), (5, 19 / 20 - 1e-12, True),
        (5, 0.949, False), (100, None, False), (0, 1.0, False),
    ],
)  # fmt: skip
def test_a_model_is_named_best_from_five_cases_on_that_are_covered(n_units, coverage, is_named):
    assert is_ranked(n_units, coverage, 0.95) is is_named

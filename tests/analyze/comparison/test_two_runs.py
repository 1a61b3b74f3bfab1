"""A pass rate on two sides: test and interval, against others' code and plain enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import norm, pearsonr, permutation_test
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from analyze.stats.exact_tests import (
    MAX_LCM,
    MAX_NONZERO,
    MIN_P,
    sign_flip,
)
from analyze.stats.intervals import wilson_shrunk
from analyze.stats.paired_rates import rate_difference
from tests.support.cpu_time import loops

pytestmark = pytest.mark.usefixtures("warm_engines")

A = [3, 3, 3, 3, 2, 1, 0, 3, 3, 2]
B = [3, 2, 1, 3, 1, 0, 0, 2, 3, 0]
THREE = [3] * 10


def _counts(most):
    return st.integers(1, most).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m)))


PAIRS = st.lists(st.tuples(_counts(7), _counts(7)), min_size=2, max_size=40)
"""Cases as ((passed, scored) of the base, the same of the candidate)."""

FEW_PAIRS = st.lists(st.tuples(_counts(5), _counts(5)), min_size=1, max_size=9)

EQUAL_PAIRS = st.integers(1, 4).flatmap(
    lambda m: st.lists(
        st.tuples(*[st.tuples(st.integers(0, m), st.just(m))] * 2), min_size=2, max_size=40
    )
)


def arrays(cases):
    return [[side[part] for side in sides] for sides in zip(*cases, strict=True) for part in (0, 1)]


def one_trial(fixed, broke, same=0):
    """Cases of one trial a side: so many fixed, so many broke, so many failed on both sides."""
    n = fixed + broke + same
    return ([0] * fixed + [1] * broke + [0] * same, [1] * n,
            [1] * fixed + [0] * broke + [0] * same, [1] * n)  # fmt: skip


def enumerated(k_a, m_a, k_b, m_b):
    """Mid-p and full p by writing down every pattern of signs, in fractions."""
    d = [Fraction(b, n) - Fraction(a, m) for a, m, b, n in zip(k_a, m_a, k_b, m_b, strict=True)]
    d = [each for each in d if each]
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, d, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(d))
    ]
    beyond, at = (sum(test(s) for s in sums) for test in (abs(sum(d)).__lt__, abs(sum(d)).__eq__))
    return Fraction(2 * beyond + at, 2 * len(sums)), Fraction(beyond + at, len(sums))


def mover(k_a, m_a, k_b, m_b, alpha, shrink=True):
    """The interval once more: limits of statsmodels, correlation of scipy, loops of our own."""
    n = len(k_a)
    sides = []
    for k, m in ((k_a, m_a), (k_b, m_b)):
        x = np.array(k) / np.array(m)
        p, s2, of_trials = x.mean(), x.var(ddof=1), np.mean(1 / np.array(m))
        varies = len(set(map(Fraction, k, m))) > 1
        measured = np.clip(s2 / (p * (1 - p) * of_trials), 1, 1 / of_trials) if varies else 1
        weight = n * min(p, 1 - p)
        effect = (2 * (0.4 + 0.6 / of_trials) + weight * measured) / (2 + weight)
        n_eff = n / of_trials / effect
        low, high = proportion_confint(p * n_eff, n_eff, alpha, method="wilson")
        sides.append((x, p, low, high, varies))
    (x_a, p_a, l_a, u_a, varies_a), (x_b, p_b, l_b, u_b, varies_b) = sides
    r = pearsonr(x_a, x_b).statistic * (1 - 1 / n if shrink else 1) if varies_a and varies_b else 0
    down = (p_b - l_b) ** 2 + (u_a - p_a) ** 2 - 2 * r * (p_b - l_b) * (u_a - p_a)
    up = (u_b - p_b) ** 2 + (p_a - l_a) ** 2 - 2 * r * (u_b - p_b) * (p_a - l_a)
    return p_b - p_a - math.sqrt(max(down, 0)), p_b - p_a + math.sqrt(max(up, 0))


# The test


@pytest.mark.parametrize(
    ("fixed", "broke", "mid_p"), [(5, 0, 0.03125), (8, 1, 0.021484), (10, 2, 0.022461)]
)
def test_one_repetition_has_the_reference_values_of_mcnemar(fixed, broke, mid_p):
    up, down = sign_flip(*one_trial(fixed, broke, 7)), sign_flip(*one_trial(broke, fixed))

    assert up.p == pytest.approx(mid_p, abs=5e-7)
    assert down.p == up.p
    assert up.test == "sign_flip_mid_p"
    assert (up.n_cases, up.n_nonzero) == (fixed + broke + 7, fixed + broke)


def test_three_repetitions_have_the_reference_values():
    result = sign_flip(A, THREE, B, THREE)

    assert (result.full_p, result.p) == (0.03125, 0.015625)
    assert (result.n_cases, result.n_nonzero) == (10, 6)


@given(st.integers(0, 60), st.integers(0, 60))
def test_one_repetition_is_the_exact_mcnemar_of_statsmodels(fixed, broke):
    assume(fixed + broke)

    result = sign_flip(*one_trial(fixed, broke))

    theirs = mcnemar([[0, broke], [fixed, 0]], exact=True).pvalue
    assert result.full_p == pytest.approx(theirs, rel=1e-12)


@given(FEW_PAIRS)
@settings(max_examples=60, deadline=None)
def test_the_p_is_that_of_every_pattern_of_signs_written_down(cases):
    counts = arrays(cases)

    result = sign_flip(*counts)

    if not result.n_nonzero:
        assert (result.p, result.full_p) == (1, 1)
        return
    mid_p, full_p = enumerated(*counts)
    assert result.p == pytest.approx(float(mid_p), abs=1e-12)
    assert result.full_p == pytest.approx(float(full_p), abs=1e-12)


def test_the_p_is_that_of_the_permutation_test_of_scipy():
    m_b = [3, 2, 3, 3, 3, 1, 3, 3, 2, 3]
    x_a = np.array(A) / 3
    x_b = np.minimum(B, m_b) / np.array(m_b)

    theirs = permutation_test(
        (x_b, x_a), lambda b, a: (b - a).sum(), permutation_type="samples", n_resamples=np.inf
    )

    result = sign_flip(A, THREE, np.minimum(B, m_b), m_b)
    assert result.full_p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_a_thousand_pairs_are_exact_into_the_far_tail():
    """Against whole numbers without limit; the smallest lies below 1e-400."""
    for fixed, broke in ((520, 480), (600, 400), (900, 100), (1_900, 100)):
        n = fixed + broke
        beyond = sum(math.comb(n, k) for k in range(broke))
        at = math.comb(n, broke)

        result = sign_flip(*one_trial(fixed, broke))

        assert result.p == pytest.approx(float(Fraction(2 * beyond + at, 2**n)), rel=1e-12)
        assert result.full_p == pytest.approx(float(Fraction(beyond + at, 2 ** (n - 1))), rel=1e-12)


def test_unequal_repetitions_are_exact_at_hundreds_of_pairs():
    """Convolved once more in whole numbers, of any size."""
    rng = np.random.default_rng(7)
    m_a, m_b = rng.choice((2, 3, 4), 300), rng.choice((3, 5), 300)
    k_a, k_b = rng.binomial(m_a, 0.7), rng.binomial(m_b, 0.6)
    d = [int(x) for x in k_b * (60 // m_b) - k_a * (60 // m_a) if x]
    ways = {0: 1}
    for each in d:
        after = {}
        for total, count in ways.items():
            for sign in (-each, each):
                after[total + sign] = after.get(total + sign, 0) + count
        ways = after
    full = Fraction(sum(c for s, c in ways.items() if abs(s) >= abs(sum(d))), 2 ** len(d))

    assert sign_flip(k_a, m_a, k_b, m_b).full_p == pytest.approx(float(full), rel=1e-12)


def test_four_pairs_that_differ_never_reach_five_percent_and_five_do():
    assert all(sign_flip(*one_trial(n, 0)).p > 0.05 for n in range(1, 5))
    assert sign_flip(*one_trial(5, 0)).p < 0.05


@pytest.mark.parametrize("side", [0, 1])
def test_exact_and_normal_limit_meet_where_they_change_over(side):
    fixed = MAX_NONZERO // 2 + 40
    exact = sign_flip(*one_trial(fixed, MAX_NONZERO - fixed))
    limit = sign_flip(*one_trial(fixed + side, MAX_NONZERO - fixed + 1 - side))

    assert (exact.test, limit.test) == ("sign_flip_mid_p", "sign_flip_normal")
    z = (2 * fixed - MAX_NONZERO + 2 * side - 1) / math.sqrt(MAX_NONZERO + 1)
    assert limit.p == limit.full_p == pytest.approx(2 * norm.sf(z), rel=1e-12)
    assert limit.p == pytest.approx(exact.p, rel=0.12)


def test_a_common_denominator_above_the_limit_takes_the_normal_limit():
    k, m = [5, 3, 2, 7, 4, 6, 1, 0] * 3, [7, 11, 13, 9, 5, 8, 3, 2] * 3
    assert math.lcm(*m) > MAX_LCM

    result = sign_flip(k, m, [0] * 24, m)

    d = np.array(k) / np.array(m)
    assert result.test == "sign_flip_normal"
    assert result.p == pytest.approx(2 * norm.sf(d.sum() / np.sqrt((d**2).sum())), rel=1e-12)


def test_cases_that_do_not_differ_have_no_say_in_the_common_denominator():
    k, m = [5, 3, 2, 7, 4, 6, 1, 0], [7, 11, 13, 9, 5, 8, 3, 2]

    result = sign_flip([*k, *A], [*m, *THREE], [*k, *B], [*m, *THREE])

    assert (result.test, result.full_p) == ("sign_flip_mid_p", 0.03125)


@given(PAIRS)
@settings(deadline=None)
def test_exchanged_sides_and_another_order_of_the_cases_have_the_same_p(cases):
    k_a, m_a, k_b, m_b = arrays(cases)

    result = sign_flip(k_a, m_a, k_b, m_b)

    assert result == sign_flip(k_b, m_b, k_a, m_a)
    assert result == sign_flip(*arrays(cases[::-1])) == sign_flip(*arrays(sorted(cases)))
    assert 0 < result.p <= result.full_p <= 1
    assert result.full_p >= 2.0 ** (1 - result.n_nonzero) or not result.n_nonzero


def test_a_p_is_never_zero():
    for n in (1_500, MAX_NONZERO, 5_000):
        assert sign_flip(*one_trial(n, 0)).p == MIN_P > 0


@pytest.mark.parametrize(
    "counts", [([],) * 4, ([2], [3], [2], [3]), ([1, 0], [2, 3], [2, 0], [4, 1])]
)
def test_nothing_that_differs_speaks_for_no_difference(counts):
    result = sign_flip(*counts)

    assert (result.n_nonzero, result.p, result.full_p) == (0, 1, 1)


def test_five_thousand_cases_take_no_time():
    rng = np.random.default_rng(3)
    m_a, m_b = rng.choice((3, 4, 6), 5_000), rng.choice((3, 4, 6), 5_000)
    counts = rng.binomial(m_a, 0.9), m_a, rng.binomial(m_b, 0.9), m_b
    found = []

    cost = loops(lambda: found.extend((sign_flip(*counts), rate_difference(*counts))))

    assert cost < 50
    result, interval = found
    assert result.n_cases == interval.n_cases == 5_000


# The interval


def test_the_interval_has_the_reference_values():
    interval = rate_difference(A, THREE, B, THREE)

    assert interval.difference == pytest.approx(-0.2667, abs=5e-5)
    assert (interval.low, interval.high) == pytest.approx((-0.4324, -0.0753), abs=5e-5)
    assert (interval.low90, interval.high90) == pytest.approx((-0.4100, -0.1048), abs=5e-5)
    assert interval.low < interval.low90 < interval.difference < interval.high90 < interval.high
    assert interval.n_cases == 10


def test_the_independent_interval_gives_the_published_values_of_newcombe():
    """36, 12, 2, 0 in Newcombe 1998, table II, method 10, which does not shrink the correlation."""
    k_a, k_b = [1] * 48 + [0] * 2, [1] * 36 + [0] * 12 + [1] * 2

    low, high = mover(k_b, [1] * 50, k_a, [1] * 50, 0.05, shrink=False)

    assert (round(low, 4), round(high, 4)) == (0.0569, 0.3404)


@given(PAIRS)
@settings(deadline=None)
def test_the_interval_is_the_independent_one(cases):
    counts = arrays(cases)

    interval = rate_difference(*counts)

    assert (interval.low, interval.high) == pytest.approx(mover(*counts, 0.05), abs=1e-9)
    assert (interval.low90, interval.high90) == pytest.approx(mover(*counts, 0.10), abs=1e-9)


@given(PAIRS)
@settings(deadline=None)
def test_exchanged_sides_mirror_the_interval_and_the_order_of_cases_does_not_matter(cases):
    k_a, m_a, k_b, m_b = arrays(cases)

    there, back = rate_difference(k_a, m_a, k_b, m_b), rate_difference(k_b, m_b, k_a, m_a)

    assert there.difference == -back.difference
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-12)
    assert there == rate_difference(*arrays(cases[::-1])) == rate_difference(*arrays(sorted(cases)))


@given(PAIRS)
@settings(deadline=None)
def test_the_interval_stays_inside_its_limits_and_is_never_zero_wide(cases):
    i = rate_difference(*arrays(cases))

    assert -1 <= i.low <= i.low90 <= i.difference <= i.high90 <= i.high <= 1
    assert i.high90 - i.low90 > 0.001


@pytest.mark.parametrize("n", [2, 3, 10, 5_000])
@pytest.mark.parametrize("m", [1, 3])
def test_sides_that_do_not_vary_still_leave_a_doubt(n, m):
    passed, failed, scored = [m] * n, [0] * n, [m] * n

    same = rate_difference(passed, scored, passed, scored)
    gone = rate_difference(passed, scored, failed, scored)

    assert same.difference == 0
    assert same.low == pytest.approx(-same.high, abs=1e-15)
    assert same.low < 0 < same.high
    assert (gone.difference, gone.low) == (-1, -1)
    assert gone.high > -1


def test_cases_that_all_have_the_same_third_have_an_interval_as_any():
    """Their mean need not be the same float; their spread is none all the same."""
    k, m = [1] * 7, [3] * 7

    interval = rate_difference(k, m, [2] * 7, m)

    assert (interval.low, interval.high) == pytest.approx(mover(k, m, [2] * 7, m, 0.05), abs=1e-12)
    one_side = wilson_shrunk(k, m)
    assert interval.high - interval.low > one_side.high - one_side.low


@pytest.mark.parametrize("counts", [([],) * 4, ([2], [3], [1], [3])])
def test_fewer_than_two_cases_have_no_interval(counts):
    assert rate_difference(*counts) is None


# What both are given


@pytest.mark.parametrize("of_two", [sign_flip, rate_difference])
@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (([1, 1], [1, 1], [1], [1]), "all four"),
        (([1, 0], [1, 0], [1, 1], [1, 1]), "got a case with none"),
        (([1, 1], [1, 1], [1, 0], [1, -1]), "got a case with none"),
        (([2, 1], [1, 1], [1, 1], [1, 1]), "between 0 and"),
        (([1, -1], [1, 1], [1, 1], [1, 1]), "between 0 and"),
        (([1, 0.5], [1, 1], [1, 1], [1, 1]), "whole numbers"),
        (([1, math.nan], [1, 1], [1, 1], [1, 1]), "whole numbers"),
        (([[1, 1]], [[1, 1]], [[1, 1]], [[1, 1]]), "one a case"),
        ((1, 1, 1, 1), "one a case"),
    ],
)
def test_counts_that_are_no_pairs_are_an_error(of_two, counts, message):
    with pytest.raises(ValueError, match=message):
        of_two(*counts)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, float, object])
@pytest.mark.parametrize("of_two", [sign_flip, rate_difference])
def test_any_kind_of_whole_number_will_do(of_two, dtype):
    """Small unsigned ones too, whose differences and products would run over."""
    k_a, k_b, m = (np.array(each, dtype=object) * 28 for each in (A, B, THREE))
    plain = [[int(count) for count in counts] for counts in (k_a, m, k_b, m)]

    assert of_two(*(counts.astype(dtype) for counts in (k_a, m, k_b, m))) == of_two(*plain)

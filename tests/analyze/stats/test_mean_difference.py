"""Student's t of paired differences against scipy, and q values against statsmodels."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp
from statsmodels.stats.multitest import multipletests

from analyze.stats.paired_means import MIN_P, MIN_PAIRS, benjamini_hochberg, paired_t

DIFFERENCES = st.lists(
    st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=MIN_PAIRS, max_size=60
)

PS = st.lists(st.none() | st.floats(0, 1), max_size=40)


@pytest.mark.parametrize("n", [5, 6, 30, 999, 1_001, 5_000])
@pytest.mark.parametrize("shift", [0.0, 0.05, 0.4])
def test_limits_and_p_are_those_of_scipy(n, shift):
    values = np.random.default_rng(n).normal(shift, 1, n)

    result = paired_t(values)

    theirs = ttest_1samp(values, 0)
    limits, limits90 = theirs.confidence_interval(0.95), theirs.confidence_interval(0.90)
    assert (result.n, result.mean) == (n, pytest.approx(values.mean(), abs=1e-12))
    assert (result.low, result.high) == pytest.approx((limits.low, limits.high), abs=1e-10)
    assert (result.low90, result.high90) == pytest.approx((limits90.low, limits90.high), abs=1e-10)
    assert result.p == pytest.approx(theirs.pvalue, abs=2 * MIN_P)


@given(DIFFERENCES)
@settings(deadline=None)
def test_the_opposite_differences_have_the_opposite_interval_in_any_order(values):
    there, back = paired_t(values), paired_t([-value for value in values[::-1]])

    assert (back.mean, back.low, back.high) == (-there.mean, -there.high, -there.low)
    assert (back.low90, back.high90) == (-there.high90, -there.low90)
    assert there.p == back.p
    assert there.low <= there.low90 <= there.mean <= there.high90 <= there.high
    assert 0 <= there.p <= 1
    assert there.p > 0 or there.low == there.high


@given(DIFFERENCES)
@settings(deadline=None)
def test_the_p_is_below_five_percent_exactly_where_the_interval_leaves_zero_out(values):
    result = paired_t(values)

    if abs(result.p - 0.05) > 1e-9:
        assert (result.p < 0.05) is not (result.low <= 0 <= result.high)


@pytest.mark.parametrize(("value", "p"), [(0.0, 1.0), (0.1, 0.0), (-2.0, 0.0), (1e-200, 0.0)])
def test_differences_that_are_all_the_same_have_no_width(value, p):
    result = paired_t([value] * 7)

    assert result.mean == result.low == result.high == result.low90 == result.high90 == value
    assert result.p == p


def test_a_t_beyond_what_the_series_resolves_is_given_as_its_limit():
    nearly = [1.0, 1.0, 1.0, 1.0, 1.0 + 1e-9]

    assert paired_t(nearly).p == MIN_P
    assert paired_t([*nearly] * 200).p == MIN_P


def test_differences_too_small_to_be_squared_are_taken_as_the_same():
    result = paired_t([1e-200, 2e-200, 3e-200, 4e-200, 5e-200])

    assert result.mean == pytest.approx(3e-200)
    assert result.low == result.high == result.mean


@pytest.mark.parametrize("n", [0, 1, MIN_PAIRS - 1])
def test_fewer_than_five_pairs_have_no_mean(n):
    assert paired_t([0.1] * n) is None


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_difference_that_is_no_number_is_an_error(wrong):
    with pytest.raises(ValueError, match="finite"):
        paired_t([0.1, 0.2, 0.3, 0.4, wrong])


@given(PS)
@settings(deadline=None)
def test_q_is_that_of_statsmodels_and_what_was_not_tested_stays_out(ps):
    qs = benjamini_hochberg(ps)

    tested = [p for p in ps if p is not None]
    assert [q is None for q in qs] == [p is None for p in ps]
    theirs = multipletests(tested, method="fdr_bh")[1] if tested else []
    assert [q for q in qs if q is not None] == pytest.approx(list(theirs), abs=1e-12)


@given(PS.filter(bool))
@settings(deadline=None)
def test_q_keeps_the_order_of_p_and_never_lies_below_it(ps):
    pairs = sorted((p, q) for p, q in zip(ps, benjamini_hochberg(ps), strict=True) if p is not None)

    assert all(p <= q <= 1 for p, q in pairs)
    assert [q for _, q in pairs] == sorted(q for _, q in pairs)
    assert benjamini_hochberg(ps[::-1]) == benjamini_hochberg(ps)[::-1]


def test_a_family_of_one_or_none_is_left_as_it_is():
    assert benjamini_hochberg([]) == []
    assert benjamini_hochberg([None, None]) == [None, None]
    assert benjamini_hochberg([None, 0.04]) == [None, 0.04]
    assert benjamini_hochberg([0.02, 0.02]) == [0.02, 0.02]
    assert benjamini_hochberg([0.0, 1.0]) == [0.0, 1.0]


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan])
def test_a_p_that_is_none_is_an_error(wrong):
    with pytest.raises(ValueError, match="between 0 and 1"):
        benjamini_hochberg([0.5, wrong])

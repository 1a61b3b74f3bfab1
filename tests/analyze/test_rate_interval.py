"""The interval of a rate: reference values, limits, and agreement with textbook Wilson."""

import math
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyze.metrics.intervals import mean_of_cases, wilson_clustered

CASES = st.lists(
    st.integers(1, 6).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m))),
    min_size=2,
    max_size=40,
)


@pytest.mark.parametrize(
    ("k", "m", "n_eff", "low", "high"),
    [
        ([1] * 16, [1] * 16, 16, 0.8064, 1),
        ([3, 3, 2, 0, 3, 1], [3] * 6, 7.5, 0.3301, 0.8903),
        ([3, 1, 0, 2], [3, 1, 2, 3], 4.6731, 0.2660, 0.9169),
    ],
)
def test_interval_has_the_reference_values(k, m, n_eff, low, high):
    interval = wilson_clustered(k, m)

    assert interval is not None
    assert interval.method == "wilson_clustered"
    assert interval.n_eff == pytest.approx(n_eff, abs=5e-5)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)
    assert (interval.n_cases, interval.n_trials) == (len(m), sum(m))


def test_sixteen_cases_that_all_pass_make_tier_1_certain():
    assert wilson_clustered([1] * 15, [1] * 15).low < 0.8 < wilson_clustered([1] * 16, [1] * 16).low


@pytest.mark.parametrize("k_m", [([], []), ([3], [3]), ([3, 0], [3, 0])])
def test_fewer_than_two_cases_have_no_interval(k_m):
    assert wilson_clustered(*k_m) is None


def test_a_case_without_verdict_is_no_case():
    assert wilson_clustered([1, 0, 0], [2, 1, 0]) == wilson_clustered([1, 0], [2, 1])


@pytest.mark.parametrize(("k", "m"), [(2, 3), (1, 3), (5, 7), (1, 10)])
def test_cases_that_all_agree_count_once_each(k, m):
    """The spread is exactly zero although 1/3 is no binary fraction: the lower end of n_eff."""
    assert wilson_clustered([k] * 7, [m] * 7).n_eff == 7


@given(st.lists(st.integers(0, 1), min_size=2, max_size=200))
def test_one_trial_per_case_is_plain_wilson(passes):
    n, p, z = len(passes), sum(passes) / len(passes), NormalDist().inv_cdf(0.975)
    half = z * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n) / (1 + z * z / n)
    centre = (p + z * z / 2 / n) / (1 + z * z / n)

    interval = wilson_clustered(passes, [1] * n)

    assert interval.n_eff == pytest.approx(n)
    assert interval.low == pytest.approx(centre - half, abs=1e-12)
    assert interval.high == pytest.approx(centre + half, abs=1e-12)


@given(CASES)
def test_interval_holds_the_rate_and_stays_inside_0_and_1(cases):
    k, m = zip(*cases, strict=True)
    rate = sum(k) / sum(m)

    interval = wilson_clustered(k, m)

    assert 0 <= interval.low <= rate <= interval.high <= 1
    assert interval.low < interval.high
    assert sum(m) ** 2 / sum(i * i for i in m) - 1e-9 <= interval.n_eff <= sum(m) + 1e-9


@given(CASES)
def test_swapping_pass_and_fail_mirrors_the_interval(cases):
    k, m = zip(*cases, strict=True)

    there = wilson_clustered(k, m)
    back = wilson_clustered([a - b for a, b in zip(m, k, strict=True)], m)

    assert (back.low, back.high) == pytest.approx((1 - there.high, 1 - there.low), abs=1e-9)


def test_mean_of_cases_respects_its_limit():
    wide = mean_of_cases([0.2, 0.9, 0.5], most=3, n_trials=9)
    narrow = mean_of_cases([0.2, 0.9, 0.5], most=9, n_trials=9)

    assert wide.n_eff == 3
    assert 3 < narrow.n_eff <= 9
    assert narrow.n_trials == 9

"""The interval of a rate: reference values, limits, and agreement with textbook Wilson."""

import itertools
import math
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyze.stats.intervals import mean_of_units, wilson_shrunk

CASES = st.lists(
    st.integers(1, 6).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m))),
    min_size=2,
    max_size=40,
)


@pytest.mark.parametrize(
    ("k", "m", "n_eff", "low", "high"),
    [
        ([1] * 16, [1] * 16, 16, 0.8064, 1),
        ([3, 3, 2, 0, 3, 1], [3] * 6, 7.8261, 0.3358, 0.8878),
        ([3, 1, 0, 2], [3, 1, 2, 3], 4.4944, 0.2608, 0.9190),
        ([20] * 5, [20] * 5, 8.0645, 0.6774, 1),
        ([20] * 4 + [19], [20] * 5, 8.2493, 0.6688, 0.9998),
    ],
)
def test_interval_has_the_reference_values(k, m, n_eff, low, high):
    interval = wilson_shrunk(k, m)

    assert interval is not None
    assert interval.method == "wilson_shrunk"
    assert interval.n_eff == pytest.approx(n_eff, abs=5e-5)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)
    assert (interval.n_cases, interval.n_trials) == (len(m), sum(m))


def test_sixteen_cases_that_all_pass_make_tier_1_certain():
    assert wilson_shrunk([1] * 15, [1] * 15).low < 0.8 < wilson_shrunk([1] * 16, [1] * 16).low


@pytest.mark.parametrize("k_m", [([], []), ([3], [3]), ([3, 0], [3, 0])])
def test_fewer_than_two_cases_have_no_interval(k_m):
    assert wilson_shrunk(*k_m) is None


def test_a_case_without_verdict_is_no_case():
    assert wilson_shrunk([1, 0, 0], [2, 1, 0]) == wilson_shrunk([1, 0], [2, 1])


def test_the_rate_is_the_mean_over_cases_however_often_one_was_asked():
    """A smoke case asked sixty times is one case."""
    interval = wilson_shrunk([60, 0, 1, 0], [60, 1, 1, 1])

    assert interval.estimate == 0.5
    assert interval.n_eff < 5
    assert interval.low < 0.2


def test_a_case_of_a_thousand_trials_does_not_make_the_others_surer():
    few, many = (wilson_shrunk([m, 0, 1, 0], [m, 1, 1, 1]) for m in (1, 1_000))

    assert many.n_eff == pytest.approx(few.n_eff, rel=0.2)


@pytest.mark.parametrize("m", [1, 2, 3, 5, 20, 100])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 10, 30])
def test_a_trial_more_that_passes_never_lowers_the_lower_limit(n, m):
    """Over every number of passes, gathered in few cases or spread over all."""
    for fill in (lambda t: [min(max(t - m * i, 0), m) for i in range(n)],
                 lambda t: [t // n + (i < t % n) for i in range(n)]):  # fmt: skip
        lows = [wilson_shrunk(fill(passes), [m] * n).low for passes in range(n * m + 1)]
        assert lows == sorted(lows)


@pytest.mark.parametrize("m", [(1, 2), (1, 20), (3, 3, 3), (1, 2, 5), (2, 3, 7), (1, 1, 2, 4)])
def test_a_trial_more_lowers_no_limit_whatever_each_case_has(m):
    """Every outcome of cases with equal and unequal numbers of trials, and each one's next."""
    for k in itertools.product(*[range(count + 1) for count in m]):
        here = wilson_shrunk(k, m)
        for place, (passes, trials) in enumerate(zip(k, m, strict=True)):
            if passes < trials:
                there = wilson_shrunk((*k[:place], passes + 1, *k[place + 1 :]), m)
                assert there.low >= here.low - 1e-12
                assert there.high >= here.high - 1e-12


@given(st.lists(st.integers(0, 1), min_size=2, max_size=200))
def test_one_trial_per_case_is_plain_wilson(passes):
    n, p, z = len(passes), sum(passes) / len(passes), NormalDist().inv_cdf(0.975)
    half = z * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n) / (1 + z * z / n)
    centre = (p + z * z / 2 / n) / (1 + z * z / n)

    interval = wilson_shrunk(passes, [1] * n)

    assert interval.n_eff == pytest.approx(n)
    assert interval.low == pytest.approx(centre - half, abs=1e-12)
    assert interval.high == pytest.approx(centre + half, abs=1e-12)


@given(CASES)
def test_interval_holds_the_rate_and_stays_inside_0_and_1(cases):
    k, m = zip(*cases, strict=True)
    rate = sum(passed / scored for passed, scored in cases) / len(cases)

    interval = wilson_shrunk(k, m)

    assert interval.estimate == pytest.approx(rate, abs=1e-12)
    assert 0 <= interval.low <= interval.estimate <= interval.high <= 1
    assert interval.low < interval.high
    harmonic = len(cases) / sum(1 / scored for scored in m)
    assert len(cases) - 1e-9 <= interval.n_eff <= len(cases) * harmonic + 1e-9


@given(CASES)
def test_swapping_pass_and_fail_mirrors_the_interval(cases):
    k, m = zip(*cases, strict=True)

    there = wilson_shrunk(k, m)
    back = wilson_shrunk([a - b for a, b in zip(m, k, strict=True)], m)

    assert (back.low, back.high) == pytest.approx((1 - there.high, 1 - there.low), abs=1e-9)


def test_a_mean_of_values_has_at_most_as_many_trials_as_draws():
    one = mean_of_units([0.2, 0.9, 0.5], [1, 1, 1], n_trials=9)
    three = mean_of_units([0.2, 0.9, 0.5], [3, 3, 3], n_trials=9)

    assert one.n_eff == 3
    assert 3 < three.n_eff <= 9
    assert (three.n_trials, three.n_cases) == (9, 3)


@given(CASES)
def test_counts_and_their_shares_have_the_same_interval(cases):
    k, m = zip(*cases, strict=True)

    shares = mean_of_units([a / b for a, b in cases], m, n_trials=sum(m))

    assert shares == wilson_shrunk(k, m)

"""Flip rates: reference values, an independent implementation, and what is called flaky."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analyze.stats.rates import flip_limits, flip_rate, steadiness
from tests.support.interpreter import run_without

COUNTS = st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("k", "n", "rate", "low", "high"),
    [(3, 10, 0.4667, 0.1682, 0.5), (1, 10, 0.2, 0.0218, 0.4718)],
)
def test_flip_rate_has_the_reference_values(k, n, rate, low, high):
    assert flip_rate(k, n) == pytest.approx(rate, abs=5e-5)
    assert flip_limits(k, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("k", "n", "said"),
    [
        (2, 5, "flaky"),
        (3, 10, "flaky"),
        (1, 10, "unknown"),
        (0, 50, "steady"),
        (50, 50, "steady"),
        (25, 50, "flaky"),
        (0, 5, "unknown"),
        (2, 4, "unknown"),
        (0, 0, "unknown"),
    ],
)
def test_a_cell_is_called_what_its_limits_allow(k, n, said):
    assert steadiness(k, n) == said


@given(COUNTS)
def test_the_rate_is_the_share_of_pairs_that_disagree(counts):
    k, n = counts
    pairs = list(itertools.combinations([1] * k + [0] * (n - k), 2))

    rate = flip_rate(k, n)

    if pairs:
        assert rate == pytest.approx(sum(a != b for a, b in pairs) / len(pairs))
    else:
        assert rate is None


@given(COUNTS)
def test_limits_are_those_of_the_pass_rate_seen_through_its_curve(counts):
    k, n = counts
    limits = flip_limits(k, n)
    if n < 5:
        assert limits is None
        return
    low = stats.beta.ppf(0.025, k + 0.5, n - k + 0.5) if k else 0
    high = stats.beta.ppf(0.975, k + 0.5, n - k + 0.5) if k < n else 1
    between = [low + (high - low) * step / 2000 for step in range(2001)]
    chances = [2 * p * (1 - p) for p in between]

    assert limits[0] == pytest.approx(min(chances), abs=1e-9)
    assert limits[1] == pytest.approx(max(chances), abs=1e-6)


@given(COUNTS)
def test_passes_and_failures_count_alike(counts):
    k, n = counts

    assert flip_rate(k, n) == flip_rate(n - k, n)
    assert steadiness(k, n) == steadiness(n - k, n)


def test_a_cell_that_passes_97_of_100_is_called_flaky_in_two_percent():
    """Worst at eight trials, where two failures suffice: 2.2 %."""
    for n in range(5, 51):
        flaky = [k for k in range(n + 1) if steadiness(k, n) == "flaky"]
        chance = sum(stats.binom.pmf(k, n, 0.97) for k in flaky)
        assert chance <= (0.0224 if n == 8 else 0.02)


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3)])
def test_impossible_counts_are_our_own_mistake(k, n):
    for function in (flip_rate, flip_limits, steadiness):
        with pytest.raises(ValueError, match=f"got {k} of {n}"):
            function(k, n)


def test_whoever_asks_for_no_limits_never_loads_scipy():
    code = (
        "from analyze.stats import rates\n"
        "from analyze.stats.changepoints import cells, rates as level_shifts, values\n"
        "rates.flip_rate(1, 2); rates.steadiness(1, 2)"
    )
    run_without(code, "scipy")

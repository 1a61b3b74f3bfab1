"""What past runs say about spread: known truth, analysis of variance, what cannot be told."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f_oneway

from analyze.stats.power.smallest_drop import (
    MIN_CASES,
    RunVariance,
    kappa_of,
    parts_of_one,
    planning_mde,
)
from tests.support.interpreter import run_without

COUNTS = st.integers(0, 6).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m)))


def simulated(rho, kappa, *, n, m, p=0.7, seed=11):
    """Two runs of n cases whose true rates have this correlation: shared where `kappa` says so."""
    rng = np.random.default_rng(seed)
    scale = (1 - rho) / rho
    one = rng.beta(p * scale, (1 - p) * scale, n)
    other = np.where(rng.random(n) < kappa, one, rng.beta(p * scale, (1 - p) * scale, n))
    return rng.binomial(m, one), rng.binomial(m, other)


@pytest.mark.parametrize("rho", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("m", [2, 5])
def test_rate_and_share_between_cases_are_found_again(rho, m):
    k, _ = simulated(rho, 1.0, n=20_000, m=m)

    run = parts_of_one(k, [m] * len(k))

    assert run.p == pytest.approx(0.7, abs=0.015)
    assert run.rho == pytest.approx(rho, abs=0.02)


@pytest.mark.parametrize("kappa", [0.2, 0.6, 0.9])
def test_the_correlation_of_the_true_rates_is_found_again(kappa):
    """The observed correlation is smaller by what chance within the cases takes away."""
    k_a, k_b = simulated(0.4, kappa, n=20_000, m=3)

    found = kappa_of(k_a, [3] * len(k_a), k_b, [3] * len(k_b))

    assert found == pytest.approx(kappa, abs=0.03)
    assert np.corrcoef(k_a, k_b)[0, 1] < 0.75 * kappa


def test_unequal_repetitions_do_not_bend_what_is_found():
    rng = np.random.default_rng(5)
    n = 20_000
    one = rng.beta(0.7, 0.3, n)
    m_a, m_b = rng.choice((1, 2, 6), n), rng.choice((1, 3), n)
    k_a, k_b = rng.binomial(m_a, one), rng.binomial(m_b, one)

    assert parts_of_one(k_a, m_a).rho == pytest.approx(0.5, abs=0.02)
    assert kappa_of(k_a, m_a, k_b, m_b) == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("m", [2, 3, 5])
def test_with_equal_repetitions_the_share_is_that_of_an_analysis_of_variance(m):
    k, _ = simulated(0.4, 1.0, n=25, m=m, seed=m)
    f = f_oneway(*([1] * passed + [0] * (m - passed) for passed in k)).statistic

    found = parts_of_one(k, [m] * 25)

    assert found.rho == pytest.approx((f - 1) / (f + m - 1), rel=1e-9)
    assert found.p == k.sum() / (25 * m)


def test_cases_that_differ_by_nothing_but_chance_have_no_share():
    run = parts_of_one([1] * 8, [2] * 8)

    assert run == RunVariance(0.5, 0.0)
    assert kappa_of([1] * 8, [2] * 8, [1] * 8, [2] * 8) is None


def test_cases_that_always_answer_alike_have_all_of_it():
    k, m = [3, 0] * 4, [3] * 8

    assert parts_of_one(k, m) == RunVariance(0.5, 1.0)
    assert kappa_of(k, m, k, m) == pytest.approx(1)
    assert kappa_of(k, m, k[::-1], m) == 0


@pytest.mark.parametrize(
    ("k", "m", "p"),
    [
        ([], [], None),
        ([0, 0], [0, 0], None),
        ([1, 0, 1, 1, 0, 1], [1] * 6, 4 / 6),  # nothing is repeated
        ([3] * 6, [3] * 6, 1.0),  # every trial ended alike
        ([0] * 6, [2] * 6, 0.0),
        ([3, 0, 1, 2], [3] * 4, 0.5),  # too few cases
        ([3, 0, 1, 2, 0], [3, 3, 3, 3, 0], 0.5),  # one of them without a verdict
    ],
)
def test_what_cannot_be_told_is_none(k, m, p):
    assert parts_of_one(k, m) == RunVariance(p, None)
    assert kappa_of(k, m, k, m) is None


def test_one_repeated_run_does_not_tell_how_two_agree():
    k = [3, 0, 1, 2, 3, 0]

    assert kappa_of(k, [3] * 6, [1, 0, 0, 1, 1, 0], [1] * 6) is None


@given(st.lists(st.tuples(COUNTS, COUNTS), max_size=30))
@settings(deadline=None)
def test_estimates_are_shares_that_planning_takes_in_any_order_of_cases(cases):
    k_a, m_a = ([base[part] for base, _ in cases] for part in (0, 1))
    k_b, m_b = ([candidate[part] for _, candidate in cases] for part in (0, 1))
    run, kappa = parts_of_one(k_a, m_a), kappa_of(k_a, m_a, k_b, m_b)

    assert run == parts_of_one(k_a[::-1], m_a[::-1])
    assert kappa == kappa_of(k_b, m_b, k_a, m_a)
    assert kappa == kappa_of(k_a[::-1], m_a[::-1], k_b[::-1], m_b[::-1])
    for share in (run.p, run.rho, kappa):
        assert share is None or 0 <= share <= 1
    if run.rho is not None and kappa is not None:
        planning_mde(30, 3, p=run.p, rho=run.rho, kappa=kappa)


def test_counts_that_are_no_pairs_are_an_error():
    with pytest.raises(ValueError, match="shorter"):
        parts_of_one([1, 2], [3])
    with pytest.raises(ValueError, match="shorter"):
        kappa_of([1, 2], [3, 3], [1, 2], [3])


def test_the_fewest_cases_are_enough():
    k, m = [3, 0, 1, 2, 3][:MIN_CASES], [3] * MIN_CASES

    assert parts_of_one(k, m).rho is not None
    assert kappa_of(k, m, k, m) is not None


def test_the_collector_can_estimate_without_loading_an_engine():
    run_without("import analyze.stats.power.smallest_drop", "numpy", "duckdb", "pyarrow", "polars")

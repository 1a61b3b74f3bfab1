"""The value of a run: a plain mean where every case is there, else each case by its own level."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyze.stats.changepoints.rates import RunValues


def of(values, present):
    values = np.where(present, values, 0.0)
    return RunValues.of(values, present, values, present.astype(float))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(7, 30), st.integers(1, 6))
def test_sums_at_every_length_are_those_of_the_values_at_that_length(seed, n_runs, n_cases):
    rng = np.random.default_rng(seed)
    values = rng.normal(7, 2, (n_runs, n_cases))
    present = rng.random(values.shape) < rng.choice([0.3, 0.9, 1.0])
    present[np.arange(n_runs), rng.integers(0, n_cases, n_runs)] = True
    series = of(values, present)

    partial, squares = series.sums(6, n_runs)

    for row, length in enumerate(range(6, n_runs + 1)):
        here, there = values[:length], present[:length]
        known = there.any(axis=0)
        level = np.array([here[there[:, c], c].mean() if known[c] else 0 for c in range(n_cases)])
        x = [(here[t] - level)[there[t]].mean() + level[known].mean() for t in range(length)]
        assert series.at(length) == pytest.approx(x)
        centred = np.array(x) - np.mean(x)
        expected = centred.cumsum()[2 : length - 3]
        assert partial[row, : len(expected)] == pytest.approx(expected, abs=1e-9)
        assert squares[row] == pytest.approx((centred**2).sum(), abs=1e-9)


def test_where_every_case_is_there_the_value_is_the_mean():
    values = np.random.default_rng(1).normal(size=(9, 4))

    assert of(values, np.ones(values.shape, bool)).at(9) == pytest.approx(values.mean(axis=1))


def test_a_case_that_comes_late_moves_no_value_of_an_additive_series():
    values = np.arange(4.0) * 10 + np.zeros((12, 1))
    present = np.ones(values.shape, bool)
    present[:6, 3] = False

    assert np.ptp(of(values, present).at(12)) == pytest.approx(0)

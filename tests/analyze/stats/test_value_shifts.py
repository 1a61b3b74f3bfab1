"""Level shifts of times and costs: an independent implementation, and what is no level."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from analyze.stats.changepoints.values import scan_values
from tests.support.plain_changepoints import RATIO_MARGIN, histories, naive_values, times

SMALL = settings(max_examples=60, deadline=None)
"""Every example is checked by loops over all nights, splits and cases."""


@SMALL
@given(histories())
def test_values_alert_as_an_independent_implementation_does(history):
    hashes, _, m, logs, coverage = history
    expected = naive_values(hashes.tolist(), logs.tolist(), coverage.tolist(), RATIO_MARGIN)

    found = scan_values(hashes, logs, m, coverage, ratio_margin=RATIO_MARGIN).shifts

    assert [(one.at, one.seen_at, one.direction) for one in found] == [one[:3] for one in expected]
    assert [one.p for one in found] == pytest.approx([one[3] for one in expected], rel=1e-6)


def test_a_slower_host_is_found_and_measured():
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(50):
        logs = 7 + rng.normal(0, 0.08, 60) + np.where(np.arange(60) < 30, 0, math.log(1.22))
        shifts = [one for one in times(logs).shifts if abs(one.at - 30) <= 5]
        found += bool(shifts) and shifts[0].direction == "up"
        if shifts and len(times(logs).shifts) == 1:
            old, new = logs[: shifts[0].at], logs[shifts[0].at :]
            interval = stats.ttest_ind(new, old).confidence_interval(0.95)
            limits = (math.exp(interval.low), math.exp(interval.high))
            assert (shifts[0].low, shifts[0].high) == pytest.approx(limits)
            assert shifts[0].size == pytest.approx(math.exp(new.mean() - old.mean()))
            assert shifts[0].before == pytest.approx(math.exp(old.mean()))
            assert shifts[0].after == pytest.approx(math.exp(new.mean()))
    assert found >= 48


@pytest.mark.parametrize("at", range(6, 60, 3))
def test_a_clean_step_is_seen_in_the_night_in_which_an_independent_t_is_rare(at):
    logs = [[7.0 + 1e-3 * (t * 7 % 10) + (t >= at)] for t in range(at + 20)]
    nights = [1.0] * len(logs)
    expected = naive_values([[0]] * len(logs), logs, nights, RATIO_MARGIN)

    found = times(logs).shifts

    assert [(one.at, one.seen_at) for one in found] == [one[:2] for one in expected]


def test_a_quicker_host_goes_down():
    shift = times([7.0 + 0.001 * (t % 5) for t in range(20)] + [6.0] * 20).shifts[0]

    assert (shift.at, shift.direction) == (20, "down")
    assert shift.size == pytest.approx(math.exp(-1), rel=0.01)


def test_single_spikes_move_nothing():
    rng = np.random.default_rng(6)
    scans = []
    for _ in range(100):
        logs = 7 + rng.normal(0, 0.08, 60)
        logs[rng.integers(0, 60, size=3)] += 2
        scans.append(times(logs))

    assert sum(len(scan.shifts) for scan in scans) <= 5


def test_a_slow_drift_does_not_turn_a_spike_into_a_level():
    """A drift of a percent is no chance; only the spike would carry it past the margin."""
    logs = 7 + 1e-3 * np.arange(40)
    logs[25] += 2

    assert times(logs).shifts == ()


@pytest.mark.parametrize(("ratio", "alerts"), [(1.09, 0), (1.11, 1), (0.91, 0), (0.89, 1)])
def test_ratios_inside_the_margin_are_no_alert(ratio, alerts):
    logs = np.where(np.arange(60) < 30, 0, math.log(ratio)) + 1e-4 * (np.arange(60) * 7 % 10)

    assert len(times(logs).shifts) == alerts


@pytest.mark.parametrize("before", [3, 4, 6, 30])
@pytest.mark.parametrize("ratio", [2, 100])
def test_many_times_as_long_is_told_after_few_nights_and_as_large_as_it_is(before, ratio):
    """A split of three nights beside three has four degrees of freedom: a fourth night shows it."""
    rng = np.random.default_rng(before)
    logs = 7 + rng.normal(0, 0.08, before + 8) + np.where(
        np.arange(before + 8) < before, 0, math.log(ratio)
    )  # fmt: skip

    (shift,) = times(logs).shifts

    assert (shift.at, shift.direction) == (before, "up")
    assert shift.seen_at <= before + 5
    assert shift.low <= ratio <= shift.high


@pytest.mark.parametrize("order", [1, -1])
def test_a_block_of_slow_cases_that_enters_or_leaves_is_no_shift(order):
    rng = np.random.default_rng(3)
    alerts = 0
    for _ in range(100):
        case = np.where(np.arange(30) < 24, 6, 9)
        logs = case + rng.normal(0, 0.08, (60, 1)) + rng.normal(0, 0.1, (60, 30))
        logs[:30, 24:] = np.nan
        logs[rng.random(logs.shape) < 0.05] = np.nan
        alerts += len(times(logs[::order]).shifts)

    assert alerts <= 3


def test_a_hundredfold_time_of_which_most_cases_run_out_of_time_has_its_own_size():
    """After four nights the slow half of the cases times out, and has no time any more."""
    rng = np.random.default_rng(9)
    logs = np.linspace(5, 9, 10) + rng.normal(0, 0.08, (10, 1)) + rng.normal(0, 0.05, (10, 10))
    logs[4:] += math.log(100)
    logs[4:, 5:] = np.nan

    shift = times(logs).shifts[0]

    assert (shift.at, shift.n_cases) == (4, 10)
    assert shift.size == pytest.approx(100, rel=0.15)


def test_values_of_disjoint_cases_are_never_two_levels():
    """No case has a value of both halves, so nothing can be said of the step."""
    logs = np.full((20, 2), np.nan)
    logs[:10, 0] = 5 + 1e-3 * (np.arange(10) * 7 % 10)
    logs[10:, 1] = 9 + 1e-3 * (np.arange(10) * 7 % 10)

    assert times(logs).shifts == ()


def test_constant_times_have_no_shift():
    assert times([7.0] * 100).shifts == ()


def test_runs_and_cases_without_a_value_are_left_out():
    logs = np.array([[7.0, 5.0]] * 20 + [[7.5, 5.5]] * 20)
    logs += 1e-3 * (np.arange(40)[:, None] * 7 % 10)
    logs[3] = np.nan
    logs[30, 0] = np.nan

    shift = times(logs, margin=0.2).shifts[0]

    assert (shift.at, shift.n_before, shift.n_cases) == (20, 19, 2)


def test_a_cost_known_only_of_a_case_that_changes_later_is_measured_as_it_was_seen():
    logs = np.full((40, 5), np.nan)
    logs[:, 0] = 1e-3 * (np.arange(40) * 7 % 10) + np.where(np.arange(40) < 20, 1, 2)
    hashes = np.zeros(logs.shape, dtype=int)
    hashes[35:, 0] = 1

    shift = times(logs, hashes=hashes).shifts[0]

    assert shift.at == 20
    assert shift.n_before == 20
    assert shift.n_after == shift.seen_at - 19
    assert shift.n_cases == 5


def test_an_outage_is_no_point_of_times_either():
    logs = np.array([7.0 + 1e-3 * (t * 7 % 10) for t in range(40)])
    logs[10:25] += 3
    coverage = np.where((np.arange(40) >= 10) & (np.arange(40) < 25), 0.0, 1.0)

    assert times(logs, coverage=coverage).shifts == ()
    assert times(logs).shifts

"""Level shifts of pass rates: reference values, an independent implementation, no false news."""

import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyze.stats.changepoints import scan as split_scan
from analyze.stats.changepoints.rates import free_runs, scan_rate
from analyze.stats.changepoints.scan import scan_tail
from analyze.stats.changepoints.values import scan_values
from tests.support.plain_changepoints import (
    MARGIN,
    RATIO_MARGIN,
    counted,
    histories,
    naive_rates,
    news,
    rates,
    times,
)

SMALL = settings(max_examples=60, deadline=None)
"""Every example is checked by loops over all nights, splits and cases."""


@SMALL
@given(histories())
def test_rates_alert_as_an_independent_implementation_does(history):
    hashes, k, m, _, coverage = history
    expected = naive_rates(hashes.tolist(), k.tolist(), m.tolist(), coverage.tolist(), MARGIN)

    found = scan_rate(hashes, k, m, coverage, margin=MARGIN).shifts

    assert [(one.at, one.seen_at, one.direction) for one in found] == [one[:3] for one in expected]
    assert [one.p for one in found] == pytest.approx([one[3] for one in expected], rel=1e-6)


@SMALL
@given(histories(), st.integers(0, 34))
def test_a_longer_history_never_moves_an_alert(history, cut):
    hashes, k, m, logs, coverage = history
    scans = [
        (
            scan_rate(hashes[:end], k[:end], m[:end], coverage[:end], margin=MARGIN),
            scan_values(
                hashes[:end], logs[:end], m[:end], coverage[:end], ratio_margin=RATIO_MARGIN
            ),
        )
        for end in (cut, len(hashes))
    ]

    for short, long in zip(*scans, strict=True):
        seen = [one for one in long.shifts if one.seen_at < cut]
        assert [(one.at, one.seen_at, one.direction) for one in short.shifts] == [
            (one.at, one.seen_at, one.direction) for one in seen
        ]
        # sums over columns of zeros round elsewhere
        assert [one.p for one in short.shifts] == pytest.approx([one.p for one in seen], rel=1e-9)


@SMALL
@given(histories())
def test_segments_follow_one_another_and_begin_where_the_shifts_are(history):
    hashes, k, m, _, coverage = history
    scan = scan_rate(hashes, k, m, coverage, margin=MARGIN)
    points = [t for t in range(len(hashes)) if coverage[t] >= 0.9 and m[t].any()]

    covered = [t for one in scan.segments for t in points if one.first <= t <= one.last]
    assert covered == points
    assert [one.cause for one in scan.segments[:1]] == ["start"][: len(points)]
    assert [one.at for one in scan.shifts] == [
        one.first for one in scan.segments if one.cause == "shift"
    ]
    for shift in scan.shifts:
        assert shift.last_before < shift.at <= shift.seen_at
        assert -1 <= shift.low <= shift.size <= shift.high <= 1
        assert shift.size == pytest.approx(shift.after - shift.before)
        assert min(shift.n_before, shift.n_after) >= 3


# --- the tail ---


@pytest.mark.parametrize(("epsilon", "p"), [(0.1, 0.0023392), (0.05, 0.0030892)])
def test_scan_tail_has_the_reference_values(epsilon, p):
    assert scan_tail(4, round(3 / epsilon)) == pytest.approx(p, abs=5e-8)


def test_scan_tail_is_a_chance_that_falls():
    for length in (6, 7, 30, 10_000):
        chances = [scan_tail(b / 20, length) for b in range(900)]
        assert all(0 <= p <= 1 for p in chances)
        assert all(a >= b for a, b in itertools.pairwise(chances[40:])), "from b = 2 on"


@pytest.mark.parametrize("alpha", [0.001, 0.01])
def test_the_critical_statistic_is_where_the_tail_is_alpha(alpha):
    for length in range(6, 201):
        b = split_scan.critical(alpha, length)
        assert scan_tail(b, length) == pytest.approx(alpha, rel=1e-9)


# --- rates ---


def test_a_drop_of_twenty_points_is_one_alert_at_its_first_run():
    rng = np.random.default_rng(7)
    scans = [rates(*counted(rng, [0.8] * 30 + [0.6] * 30)) for _ in range(60)]

    assert sum(len(scan.shifts) == 1 for scan in scans) >= 57
    first = [scan.shifts[0] for scan in scans]
    assert all(shift.direction == "down" and shift.seen_at <= 36 for shift in first)
    assert sum(shift.at == 30 for shift in first) >= 50
    assert statistics.fmean(shift.size for shift in first) == pytest.approx(-0.2, abs=0.02)


def test_unchanged_series_stay_silent():
    rng = np.random.default_rng(11)
    scans = [rates(*counted(rng, [0.8] * 60)) for _ in range(100)]

    assert sum(len(scan.shifts) for scan in scans) <= 6


def test_the_interval_is_that_of_fixed_cases():
    """Trials within cases are all that varies; here the runs scatter less than these explain."""
    k = np.array([[2, 1, 2, 1], [1, 2, 1, 2]] * 3 + [[0, 0, 1, 1], [1, 1, 0, 0]] * 3)
    m = np.full(k.shape, 2)
    variance = sum(q * (1 - q) * 24 / 23 for q in k.sum(axis=0) / 24) / 2 / 16
    half = 1.959964 * math.sqrt(variance * (1 / 6 + 1 / 6))

    shift = rates(k, m).shifts[0]

    assert (shift.at, shift.last_before, shift.n_before, shift.n_after) == (6, 5, 6, 6)
    assert (shift.before, shift.after, shift.size, shift.n_cases) == (0.75, 0.25, -0.5, 4)
    assert (shift.low, shift.high) == pytest.approx((-0.5 - half, -0.5 + half), abs=1e-6)


def test_a_level_is_measured_to_its_end_and_its_alert_keeps_its_date():
    rng = np.random.default_rng(3)
    k, m = counted(rng, [0.8] * 20 + [0.5] * 40 + [0.8] * 20)

    scan = rates(k, m)

    assert news(scan) == [(20, "down"), (60, "up")]
    assert [(one.first, one.last) for one in scan.segments] == [(0, 19), (20, 59), (60, 79)]
    assert [(one.n_before, one.n_after) for one in scan.shifts] == [(20, 40), (40, 20)]
    values = (k / m).mean(axis=1)
    assert scan.shifts[0].after == pytest.approx(values[20:60].mean())
    assert scan.shifts[1].before == pytest.approx(values[20:60].mean())


def test_a_series_that_breaks_altogether_is_one_alert():
    k = np.array([[1] * 20] * 40 + [[0] * 20] * 10)

    scan = rates(k, np.ones_like(k))

    assert news(scan) == [(40, "down")]
    assert scan.shifts[0].seen_at == 42, "three runs after the break confirm it"


@pytest.mark.parametrize("bad", [0, 1, 5, 6, 30, 70, 99])
@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_one_bad_night_is_no_level(bad, rate):
    chances = [0.8] * 100
    chances[bad] = rate
    scans = [rates(*counted(np.random.default_rng(seed), chances)) for seed in range(20)]

    assert sum(bool(scan.shifts) for scan in scans) <= 1


def test_one_bad_night_among_hundreds_is_no_level():
    """So many runs make the scatter of one night small; most runs of a level have to be in it."""
    chances = [0.8] * 600
    chances[585] = 0.0
    scans = [rates(*counted(np.random.default_rng(seed), chances)) for seed in range(20)]

    assert sum(bool(scan.shifts) for scan in scans) <= 1


def test_one_case_of_twelve_that_breaks_for_good_is_seen_after_three_runs():
    k = np.array([[1] * 12] * 57 + [[1] * 11 + [0]] * 3)

    shift = rates(k, np.ones_like(k)).shifts[0]

    assert (shift.at, shift.seen_at) == (57, 59)


def restless(passes):
    """Runs of 20 cases asked once, of which so many pass, in turn other ones."""
    rows = [[1] * passed + [0] * (20 - passed) for passed in passes]
    return np.array([np.roll(row, 3 * run) for run, row in enumerate(rows)])


@pytest.mark.parametrize("passes", [[13, 20, 20, 12, 2, 10], [15, 16, 18, 20, 6, 14, 10, 9]])
def test_the_scatter_of_the_runs_counts(passes):
    """The same step between nights that keep to their levels is an alert."""
    k = restless(passes)
    calm = restless([round(np.mean(half)) for half in np.split(np.array(passes), 2)
                     for _ in range(len(passes) // 2)])  # fmt: skip

    assert rates(k, np.ones_like(k)).shifts == ()
    assert [shift.at for shift in rates(calm, np.ones_like(calm)).shifts] == [len(passes) // 2]


@pytest.mark.parametrize("length", [6, 8, 12, 15, 20, 40, 60])
def test_unchanged_runs_scatter_around_their_best_split_by_one_variance(length):
    """Or by a little more: divided by two runs less than there are, it would be a fifth less."""
    x = np.random.default_rng(3).standard_normal((4_000, length))
    sums = (x - x.mean(axis=1, keepdims=True)).cumsum(axis=1)
    k = np.arange(3, length - 2)
    gains = np.square(sums[:, k - 1]) * length / (k * (length - k))
    left = np.square(x - x.mean(axis=1, keepdims=True)).sum(axis=1) - gains.max(axis=1)

    ratio = left.mean() / float(free_runs(np.array([length]))[0])
    assert 0.97 <= ratio <= 1.15


def test_an_alert_is_never_dated_to_a_night_before_the_last_one():
    """Two cases with new prompts at run 20 count again from there on, and broke at run 26."""
    k = np.ones((50, 10), dtype=int)
    k[20:, 0], k[36:, 1], k[26:, 8:] = 0, 0, 0
    hashes = np.zeros(k.shape, dtype=int)
    hashes[20:, 8:] = 1

    scan = rates(k, np.ones_like(k), hashes=hashes, margin=0.13)

    assert [(one.at, one.seen_at) for one in scan.shifts] == [(20, 36), (26, 36)]


def test_five_runs_are_too_few():
    k = np.array([[1] * 50] * 3 + [[0] * 50] * 3)

    assert rates(k[:5], np.ones_like(k[:5])).shifts == ()
    assert news(rates(k, np.ones_like(k))) == [(3, "down")]


@pytest.mark.parametrize(("step", "alerts"), [(50, 1), (49, 0)])
def test_a_step_of_exactly_the_margin_counts(step, alerts):
    """850 and 800 of 1,000 differ by less than 0.05 in floating point."""
    k = np.array([[1] * 850 + [0] * 150] * 10 + [[1] * (850 - step) + [0] * (150 + step)] * 10)

    assert len(rates(k, np.ones_like(k)).shifts) == alerts


@pytest.mark.parametrize("share", [0.5, 0.89, float("nan")])
def test_an_outage_is_no_point(share):
    rng = np.random.default_rng(5)
    k, m = counted(rng, [0.8] * 20 + [0.1] * 5 + [0.8] * 15)
    coverage = np.ones(40)
    coverage[20:25] = share

    scan = rates(k, m, coverage=coverage)

    assert scan.shifts == ()
    assert [(one.first, one.last, one.cause) for one in scan.segments] == [(0, 39, "start")]
    assert news(rates(k, m)) == [(20, "down"), (25, "up")]


def test_a_run_with_nine_tenths_of_its_verdicts_is_a_point():
    assert len(rates([[1]], [[1]], coverage=[9 / 10]).segments) == 1


def test_only_an_outage_is_no_series():
    scan = rates([[1]] * 9, [[1]] * 9, coverage=[0.0] * 9)

    assert (scan.segments, scan.shifts) == ((), ())


def test_a_changed_prompt_takes_its_case_out_and_raises_nothing():
    k = np.array([[1] * 10] * 20)
    k[10:, :2] = 0
    hashes = np.zeros(k.shape, dtype=int)
    hashes[10:, :2] = 1

    assert rates(k, np.ones_like(k), hashes=hashes).shifts == ()
    assert len(rates(k, np.ones_like(k), hashes=hashes).segments) == 1
    assert news(rates(k, np.ones_like(k))) == [(10, "down")]


def test_a_drop_beside_a_changed_prompt_is_measured_on_the_common_cases():
    k = np.array([[1] * 10] * 10 + [[1, 1] + [0] * 8] * 10)
    hashes = np.zeros(k.shape, dtype=int)
    hashes[15:, :2] = 1

    shift = rates(k, np.ones_like(k), hashes=hashes).shifts[0]

    assert (shift.at, shift.size, shift.n_cases) == (10, -1, 8)


@pytest.mark.parametrize("changed", [3, 10])
def test_another_suite_starts_a_segment_and_raises_nothing(changed):
    k = np.array([[1] * 10] * 20)
    k[10:] = 0
    hashes = np.zeros(k.shape, dtype=int)
    hashes[10:, :changed] = 1

    scan = rates(k, np.ones_like(k), hashes=hashes)

    assert scan.shifts == ()
    assert [(one.first, one.last, one.cause) for one in scan.segments] == [
        (0, 9, "start"),
        (10, 19, "suite_changed"),
    ]


@pytest.mark.parametrize(
    ("planned", "segments"), [((10, 8), 1), ((10, 7), 2), ((8, 10), 1), ((7, 10), 2)]
)
def test_cases_that_come_or_go_change_the_suite_below_four_fifths(planned, segments):
    hashes = np.zeros((16, 10), dtype=int)
    for row in range(16):
        hashes[row, planned[row >= 8] :] = -1

    scan = rates(hashes * 0, (hashes >= 0).astype(int), hashes=hashes)

    assert len(scan.segments) == segments


def test_a_case_that_is_missing_once_counts_where_it_is_there():
    k = np.array([[1, 1, 1, 1, 0]] * 20 + [[1, 1, 1, 1, 1]] * 20)
    hashes = np.zeros(k.shape, dtype=int)
    hashes[0, 4] = -1

    shift = rates(k, np.ones_like(k), hashes=hashes).shifts[0]

    assert (shift.at, shift.n_cases) == (20, 5)
    assert (shift.before, shift.after) == pytest.approx((0.8, 1.0), abs=0.01)


@pytest.mark.parametrize("order", [1, -1])
def test_a_block_of_cases_of_another_rate_that_enters_or_leaves_is_no_shift(order):
    """A fifth of the cases, which hardly ever pass, is there in one half of the nights."""
    rng = np.random.default_rng(8)
    alerts = 0
    for _ in range(100):
        k = rng.binomial(3, np.where(np.arange(30) < 24, 0.9, 0.1), (60, 30))
        hashes = np.zeros(k.shape, dtype=int)
        hashes[:30, 24:] = -1
        m = np.where(hashes < 0, 0, 3)[::order]
        alerts += len(rates(np.minimum(k, m), m, hashes=hashes[::order]).shifts)

    assert alerts <= 3


def test_a_drop_on_the_night_on_which_cases_enter_is_measured_on_those_of_both_levels():
    k = np.array([[1] * 10 + [0, 0]] * 20)
    k[10:, :5] = 0
    hashes = np.zeros(k.shape, dtype=int)
    hashes[:10, 10:] = -1

    shift = rates(k, np.where(hashes < 0, 0, 1), hashes=hashes).shifts[0]

    assert (shift.at, shift.before, shift.after, shift.n_cases) == (10, 1.0, 0.5, 10)


@pytest.mark.parametrize("few", [range(57, 60), range(50, 60), range(5, 60)])
def test_nights_with_few_trials_of_their_own_are_no_level(few):
    """On some nights a tenth of the cases was asked anew: these scatter three times as much."""
    rng = np.random.default_rng(12)
    alerts = 0
    for _ in range(100):
        k, m = counted(rng, [0.8] * 60)
        asked = rng.random(m.shape) < 0.1
        for night in few:
            m[night] = np.where(asked[night], m[night], 0)
        alerts += len(rates(np.minimum(k, m), m).shifts)

    assert alerts <= 4


def test_nights_without_trials_of_their_own_are_no_points():
    k = np.array([[1] * 10] * 10 + [[0] * 10] * 10)
    m = np.ones_like(k)
    m[5:13] = 0

    scan = rates(np.minimum(k, m), m)

    assert [(one.first, one.last) for one in scan.segments] == [(0, 4), (13, 19)]
    assert [(one.last_before, one.at) for one in scan.shifts] == [(4, 13)]


def test_lost_trials_change_no_case_and_no_level():
    """A tenth is lost, in other cases every night; a run without any verdict is skipped."""
    rng = np.random.default_rng(9)
    k, m = counted(rng, [0.8] * 50 + [0.5] * 20)
    kept = rng.binomial(m, 0.9)
    k = rng.hypergeometric(k, m - k, kept)
    kept[40], k[40] = 0, 0

    scan = rates(k, kept)

    assert news(scan) == [(50, "down")]
    assert scan.shifts[0].n_before == 49
    assert scan.shifts[0].n_cases == 30


def test_unequal_repetitions_count_by_case():
    """One case with 99 trials and nine with one: the mean over cases hardly sees the first."""
    m = np.tile([99] + [1] * 9, (30, 1))
    k = m.copy()
    k[15:, 0] = 50

    assert rates(k, m, margin=0.06).shifts == ()
    assert rates(k, m, margin=0.01).shifts[0].size == pytest.approx(-0.049, abs=0.001)


@pytest.mark.parametrize("value", [0, 3])
def test_constant_series_have_no_shift(value):
    k = np.full((100, 4), value)

    assert rates(k, np.full(k.shape, 3), margin=0.001).shifts == ()


def test_one_case_with_one_trial_can_shift():
    assert news(rates([[1]] * 20 + [[0]] * 20, [[1]] * 40)) == [(20, "down")]


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (8, 3)])
def test_nothing_to_see_is_no_error(shape):
    none = np.zeros(shape, dtype=int)

    assert rates(none, none).shifts == ()
    assert times(np.full(shape, np.nan), none).shifts == ()


def test_a_series_that_was_never_planned_has_no_segment():
    assert rates([[0]] * 9, [[0]] * 9, hashes=[[-1]] * 9).segments == ()


def test_long_histories_are_scanned_in_blocks_with_the_same_result(monkeypatch):
    rng = np.random.default_rng(2)
    k, m = counted(rng, [0.8] * 70 + [0.7] * 40, n_cases=10)
    logs = 7 + rng.normal(0, 0.08, size=110) + np.where(np.arange(110) < 70, 0, 0.15)
    whole = rates(k, m), times(logs)

    monkeypatch.setattr(split_scan, "BLOCK", 300)

    assert (rates(k, m), times(logs)) == whole
    assert all(scan.shifts for scan in whole)


def test_arrays_of_different_runs_are_our_own_mistake():
    with pytest.raises(ValueError, match="runs x cases"):
        rates(np.ones((3, 2)), np.ones((3, 2)), coverage=[1, 1])
    with pytest.raises(ValueError, match="runs x cases"):
        rates(np.ones((3, 2)), np.ones((3, 3)))
    with pytest.raises(ValueError, match="runs x cases"):
        times(np.ones((3, 1)), hashes=np.zeros((3, 2)))

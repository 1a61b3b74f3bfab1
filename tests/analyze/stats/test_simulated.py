"""The formulas against draws whose truth is known: coverage, false alarms, power, false alerts.

Seeds are fixed, so a figure here changes only with a formula. benchmarks/simulation.py draws more.
"""

from functools import cache
from math import comb, sqrt

import numpy as np
import pytest

from analyze.stats.rates import steadiness
from benchmarks.measures import (
    coverage_of_rates,
    figures_of_pairs,
    rate_shifts,
    scan_of_values,
    shifted_cells,
    value_shifts,
)
from benchmarks.scenarios import (
    HARD_RATES,
    SIZES,
    SPREADS,
    Families,
    Nights,
    Size,
    Times,
    changed_cells,
    hard_run,
    of_cases,
    of_families,
    one_run,
    pairs,
    passes_of_nights,
    times_of_nights,
    two_runs,
)

pytestmark = pytest.mark.peers

SEED = 20261122
RATE_DRAWS = 1_500


def pair_draws(size):
    """Few trials have few different outcomes, which are asked once each: there more is cheap."""
    return 1_500 if size.repetitions == 1 and size.cases <= 30 else 300


def generator(*place):
    return np.random.default_rng([SEED, *place])


@cache
def rate_coverage(size):
    """The coverage for each spread of cases."""
    place = SIZES.index(size)
    return [
        coverage_of_rates(
            *one_run(spread, size, RATE_DRAWS, generator(1, place, number)), spread.true_rate()
        ).covered
        for number, spread in enumerate(SPREADS)
    ]


@cache
def paired(size, change):
    """The figures for each pair of runs; without a change also with an interaction."""
    place = SIZES.index(size)
    return {
        pair: figures_of_pairs(
            *two_runs(pair, size, pair_draws(size), generator(2, place, int(change < 0), number)),
            pair.true_difference(),
        )
        for number, pair in enumerate(pairs(change, redrawn=change == 0))
    }


def by_spread(size, changes, figure):
    """The mean of a figure for each spread of cases, over every change and interaction."""
    return [
        np.mean(
            [
                figure(figures)
                for change in changes
                for pair, figures in paired(size, change).items()
                if pair.spread == spread
            ]
        )
        for spread in SPREADS
    ]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_interval_of_a_rate_holds_the_truth_as_often_as_it_says(size):
    covered = rate_coverage(size)

    assert 0.93 <= np.mean(covered) <= 0.99
    assert min(covered) >= 0.87


@pytest.mark.parametrize(
    ("size", "least_mean", "least"),
    [
        (Size(3, 1), 0.92, 0.83),  # what plain Wilson has of three trials
        (Size(3, 5), 0.94, 0.86),
        (Size(5, 20), 0.94, 0.86),
        (Size(10, 2), 0.94, 0.86),
        (Size(10, 100), 0.94, 0.86),
        (Size(30, 3), 0.94, 0.86),
    ],
    ids=str,
)
def test_so_it_does_where_cases_are_spread_as_no_formula_supposes(size, least_mean, least):
    covered = [
        coverage_of_rates(
            *hard_run(hard, size, 800, generator(6, size.cases, size.repetitions, number)),
            hard.true_rate(),
        ).covered
        for number, hard in enumerate(HARD_RATES)
    ]

    assert np.mean(covered) >= least_mean
    assert min(covered) >= least


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_interval_of_a_difference_holds_the_truth_as_often_as_it_says(size):
    covered = by_spread(size, (0.0, -0.10), lambda figures: figures.covered)

    assert 0.93 <= np.mean(covered) <= 0.99
    assert min(covered) >= 0.91


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_two_runs_that_are_the_same_are_rarely_called_different(size):
    false = by_spread(size, (0.0,), lambda figures: figures.significant)

    three_errors = 3 * sqrt(0.06 * 0.94 / pair_draws(size))
    assert max(false) <= 0.06 + three_errors


def test_on_average_at_most_one_in_twenty_same_pairs_is_called_different():
    false = [by_spread(size, (0.0,), lambda figures: figures.significant) for size in SIZES]

    assert np.mean(false) <= 0.05


def test_more_cases_show_more_of_a_drop_of_ten_points():
    shown = {
        size: np.mean(by_spread(size, (-0.10,), lambda figures: figures.shown_worse))
        for size in SIZES
    }

    for repetitions in (1, 3, 5):
        by_cases = [shown[Size(cases, repetitions)] for cases in (10, 20, 30, 100)]
        assert by_cases == sorted(by_cases)
    assert shown[Size(100, 3)] >= 0.8


def series(n, nights, *place):
    return [passes_of_nights(nights, generator(*place, one)) for one in range(n)]


def test_a_hundred_unchanged_series_of_sixty_nights_give_at_most_six_alerts():
    unchanged = series(100, Nights(Size(30, 3)), 3, 0)

    assert rate_shifts(unchanged, None, margin=0.0).false_alerts <= 6


def test_nights_that_differ_more_than_chance_give_about_ten_alerts_in_a_hundred_series():
    noisy = series(200, Nights(Size(30, 3), noise=0.4), 3, 1)

    found = rate_shifts(noisy, None, margin=0.0)
    assert 100 * found.false_alerts / found.n_series <= 10 + 3 * sqrt(10 * 100 / 200)


def test_a_drop_of_twenty_points_is_found_within_a_week_nearly_always():
    dropped = series(200, Nights(Size(30, 3), shift_at=30, change=-0.20), 3, 2)

    found = rate_shifts(dropped, 30, margin=0.05)
    assert found.found >= 0.98
    assert found.median_delay <= 3
    assert found.repeated <= 0.05 * found.n_series


def test_one_bad_night_is_no_new_level():
    """Three of five trials time out on one night of a series that never shifts."""
    alerts = 0
    for number in range(200):
        random = generator(3, 3, number)
        passed, scored = passes_of_nights(Nights(Size(30, 3)), random)
        bad = int(random.integers(len(passed)))
        passed[bad] = random.binomial(passed[bad], 0.4)
        alerts += rate_shifts([(passed, scored)], None, margin=0.05).false_alerts

    assert alerts <= 6


@pytest.mark.parametrize(("kind", "most"), [("normal", 3), ("t3", 3), ("spikes", 8)])
def test_a_hundred_unchanged_latencies_of_sixty_nights_give_few_alerts(kind, most):
    place = ("normal", "t3", "spikes").index(kind)
    unchanged = [times_of_nights(Times(kind), generator(4, place, one)) for one in range(100)]

    assert value_shifts(unchanged, None, ratio_margin=0.10).false_alerts <= most


@pytest.mark.parametrize("kind", ["normal", "t3"])
def test_a_doubled_time_after_four_nights_is_told_within_four_more(kind):
    doubled = [
        times_of_nights(Times(kind, shift_at=4, ratio=2), generator(4, 4, one))
        for one in range(200)
    ]

    found = value_shifts(doubled, 4, ratio_margin=0.10)
    assert sum(delay <= 4 for delay in found.delays) >= 0.90 * 200
    assert found.found >= 0.98
    assert found.placed(0) >= 0.97


def test_a_fifth_more_time_is_told_within_a_week_at_its_first_run_and_as_large_as_it_is():
    ratio, n = 1.22, 200
    scans = [
        scan_of_values(
            times_of_nights(Times("normal", shift_at=30, ratio=ratio), generator(4, 5, one)),
            ratio_margin=0.10,
        )
        for one in range(n)
    ]
    shifts = [
        next(shift for shift in scan.shifts if shift.seen_at >= 30)
        for scan in scans
        if any(shift.seen_at >= 30 for shift in scan.shifts)
    ]

    assert sum(shift.seen_at < 37 for shift in shifts) >= 0.70 * n
    assert sum(shift.at == 30 for shift in shifts) >= 0.70 * len(shifts)
    assert sum(shift.low <= ratio <= shift.high for shift in shifts) >= 0.90 * len(shifts)


def test_half_as_much_time_again_is_found_within_a_week():
    slower = [
        times_of_nights(Times("normal", shift_at=30, ratio=1.5), generator(4, 3, number))
        for number in range(100)
    ]

    assert value_shifts(slower, 30, ratio_margin=0.10).found >= 0.95


def test_cells_that_drop_are_named_and_few_others():
    drops = np.linspace(0.05, 0.6, 12)
    calls = [
        shifted_cells(changed_cells(200, 60, 3, drops, generator(5, call)), len(drops), 30)
        for call in range(10)
    ]

    found, false = sum(call.found for call in calls), sum(call.false for call in calls)
    assert found >= 10 * 7
    assert false <= 0.05 * (found + false) + 3 * sqrt(0.05 * (found + false))


def test_a_model_that_passes_97_of_100_is_hardly_ever_called_flaky():
    for n in range(5, 51):
        chances = [comb(n, k) * 0.97**k * 0.03 ** (n - k) for k in range(n + 1)]
        flaky = [chance for k, chance in enumerate(chances) if steadiness(k, n) == "flaky"]
        assert round(sum(flaky), 2) <= 0.02


@pytest.mark.parametrize(
    ("family", "by_case", "false_by_case"),
    [
        (Families(0.5, repetitions=3, spread=1.5, taste=1.0), 0.80, 0.15),
        (Families(0.8, repetitions=1, spread=1.5, taste=1.0), 0.84, 0.07),
        (Families(0.8, repetitions=5, spread=1.5, taste=1.0), 0.78, 0.15),
        (Families(0.95, repetitions=3, spread=3.0, taste=1.0), 0.76, 0.13),
    ],
)
def test_cases_that_come_in_families_are_covered_as_clusters(family, by_case, false_by_case):
    """Ten families of five; two unchanged runs of which each likes other families."""
    runs = family.runs(500, generator(14, family.repetitions), 2)
    cases, families = ([view(one) for one in runs] for view in (of_cases, of_families))

    assert coverage_of_rates(*cases[:2], family.true_rate()).covered < by_case
    assert coverage_of_rates(*families[:2], family.true_rate()).covered > 0.91
    assert figures_of_pairs(*cases, 0.0).significant > false_by_case
    assert figures_of_pairs(*families, 0.0).significant < 0.05 + 3 * sqrt(0.05 * 0.95 / 500)

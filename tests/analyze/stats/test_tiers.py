"""Tiers have no holes, and a percentile knows how many trials it needs."""

import pytest

from analyze.stats.intervals import is_supported, supported, wilson_shrunk
from analyze.stats.rates import LABELS, tier_confident, tier_of
from schemas.config.project import Thresholds


@pytest.mark.parametrize(
    ("rate", "tier"),
    [
        (1.0, 1),
        (0.8, 1),
        (0.795, 2),
        (0.7999999, 2),
        (0.5, 2),
        (0.4999999, 3),
        (0.0, 3),
        (None, None),
    ],
)
def test_tier_of_a_rate(rate, tier):
    assert tier_of(rate) == tier


def test_bounds_are_those_in_force():
    own = Thresholds(tier_1_from=0.9, tier_2_from=0.1)

    assert [tier_of(rate, own) for rate in (0.9, 0.89, 0.1, 0.09)] == [1, 2, 2, 3]
    assert set(LABELS) == {1, 2, 3}


@pytest.mark.parametrize(
    ("passes", "trials", "confident"),
    [(16, 16, True), (15, 15, False), (0, 16, True), (8, 16, False)],
)
def test_tier_is_confident_when_the_whole_interval_lies_inside(passes, trials, confident):
    interval = wilson_shrunk([1] * passes + [0] * (trials - passes), [1] * trials)

    assert tier_confident(tier_of(passes / trials), interval) is confident


def test_no_interval_no_confidence():
    assert tier_confident(1, None) is None
    assert tier_confident(None, None) is None


@pytest.mark.parametrize(
    ("percent", "n", "expected"),
    [
        (50, 9, False),
        (50, 10, True),
        (95, 99, False),
        (95, 100, True),
        (99, 499, False),
        (99, 500, True),
    ],
)
def test_percentile_needs_five_trials_above_it(percent, n, expected):
    assert is_supported(n, percent) is expected
    assert getattr(supported(n), f"p{percent}") is expected

"""A number beside the bound that it is held against never looks like it."""

import pytest

from analyze.render.numbers import percent, percent_range, points, signed_points, usd, whole
from collect.console.run_summary import distrust
from schemas.config.project import Thresholds


@pytest.mark.parametrize(
    ("rate", "bound", "text"),
    [
        (0.7996, 0.8, "79.96"),
        (0.79999, 0.8, "79.999"),
        (0.8, 0.8, "80.0"),
        (0.81, 0.8, "81.0"),
        (0.8004, 0.8, "80.04"),
        (0.7996, None, "80.0"),
        (1 - 1e-12, 1.0, "100.0"),
        (None, 0.8, ""),
        (0.0, 0.0004, "0.00"),
    ],
)
def test_a_percentage_has_the_digits_that_tell_it_from_its_bound(rate, bound, text):
    assert percent(rate, bound) == text


def test_several_bounds_are_told_apart():
    assert percent(0.50001, 0.8, 0.5) == "50.001"
    assert percent_range(0.7996, 0.9, 0.8) == "[79.96, 90.0]"


def test_differences_times_and_money_as_well():
    assert points(-0.0204, 0.02) == "2.04"
    assert points(-0.02004, 0.02) == "2.004"
    assert signed_points(-0.02004, 0.02) == "-2.004"
    assert (whole(2000.4, 2000), whole(1999.96, 2000), whole(12_345.4)) == (
        "2,000.4", "1,999.96", "12,345",
    )  # fmt: skip
    assert (usd(1.004, 1.0), usd(0.0010004, 0.001), usd(1.0, 1.0)) == ("1.004", "0.0010004", "1.00")


def test_a_run_that_just_misses_its_limits_does_not_print_them():
    group = {
        "model_id": "m", "coverage": 0.9496, "n_timeout": 5_004, "n_planned": 100_000,
        "n_total": 100_000, "failures": {"timeout": 5_004, "output_truncated": 1_002},
    }  # fmt: skip

    coverage, timeouts, truncated = distrust([group], Thresholds())

    assert "only 94.96 % of" in coverage
    assert ": 5.004 % of the trials timed out (limit 5 %)" in timeouts
    assert ": 1,002 of 100,000 answers (1.002 %) were cut off (limit 1 %)" in truncated

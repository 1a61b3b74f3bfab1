"""Student's t against printed tables, and the sizes of runs that follow from it."""

import itertools
import math
import random
from statistics import NormalDist

import pytest

from analyze.stats.exact_tests import sign_flip
from analyze.stats.paired_means import MIN_EXPANSION_DF, t_cdf, t_quantile
from analyze.stats.power.assumptions import Assumptions
from analyze.stats.power.planning import Planner
from analyze.stats.power.smallest_drop import planning_mde
from schemas.config.project import Thresholds
from tests.support.interpreter import run_without

USUAL = Planner(Thresholds())
CERTAIN = Planner(Thresholds(), Assumptions(0.8, 1.0, 1.0, ()))
"""A model that answers the same every time: its two runs would never differ by chance."""

TABLE = {
    (0.975, 1): 12.706205,
    (0.975, 2): 4.302653,
    (0.975, 3): 3.182446,
    (0.975, 4): 2.776445,
    (0.975, 5): 2.570582,
    (0.975, 10): 2.228139,
    (0.975, 19): 2.093024,
    (0.975, 30): 2.042272,
    (0.975, 60): 2.000298,
    (0.975, 120): 1.979930,
    (0.975, 1000): 1.962339,
    (0.95, 1): 6.313752,
    (0.95, 10): 1.812461,
    (0.995, 2): 9.924843,
    (0.995, 10): 3.169273,
    (0.8, 1): 1.376382,
    (0.8, 5): 0.919544,
    (0.8, 10): 0.879058,
    (0.8, 30): 0.853767,
}
"""Printed tables of the distribution, to six digits."""


@pytest.mark.parametrize(("probability", "df"), TABLE)
def test_quantiles_are_those_of_printed_tables(probability, df):
    assert t_quantile(probability, df) == pytest.approx(TABLE[probability, df], abs=1e-6)


@pytest.mark.parametrize("q", [0.5, 0.6, 0.8, 0.975, 0.999])
def test_quantiles_of_one_two_and_four_degrees_have_a_closed_form(q):
    alpha = 4 * q * (1 - q)
    cosine = math.cos(math.acos(math.sqrt(alpha)) / 3) / math.sqrt(alpha)

    assert t_quantile(q, 1) == pytest.approx(math.tan(math.pi * (q - 0.5)), rel=1e-12, abs=1e-15)
    assert t_quantile(q, 2) == pytest.approx(2 * (q - 0.5) * math.sqrt(2 / alpha), abs=1e-12)
    assert t_quantile(q, 4) == pytest.approx(2 * math.sqrt(max(cosine - 1, 0)), abs=1e-7)


def test_the_quantile_undoes_the_probability_and_is_symmetric():
    for q, df in itertools.product((0.01, 0.3, 0.5, 0.8, 0.9999), (1, 2, 3, 7, 8, 100, 999)):
        assert t_cdf(t_quantile(q, df), df) == pytest.approx(q, abs=1e-12)
        assert t_quantile(q, df) == pytest.approx(-t_quantile(1 - q, df), abs=1e-9)


def test_series_and_expansion_meet():
    for q in (0.8, 0.975, 0.9995):
        at = t_quantile(q, MIN_EXPANSION_DF)

        assert t_cdf(at, MIN_EXPANSION_DF) == pytest.approx(q, abs=1e-11)
        assert (
            t_quantile(q, MIN_EXPANSION_DF - 1)
            > at
            > t_quantile(q, MIN_EXPANSION_DF + 1)
            > NormalDist().inv_cdf(q)
        )


@pytest.mark.parametrize(("q", "df"), [(0.0, 5), (1.0, 5), (0.9, 0)])
def test_a_quantile_that_does_not_exist_is_an_error(q, df):
    with pytest.raises(ValueError, match="got"):
        t_quantile(q, df)


@pytest.mark.parametrize(
    ("n_cases", "repetitions", "points", "digits"),
    [
        (20, 1, 33, 0),
        (20, 3, 20, 0),
        (30, 3, 16, 0),
        (30, 5, 13, 0),
        (50, 3, 12, 0),
        (100, 1, 13, 0),
        (100, 3, 8, 0),
        (300, 3, 4.4, 1),
        (1000, 1, 3.8, 1),
    ],
)
def test_the_reference_sizes(n_cases, repetitions, points, digits):
    assert round(100 * planning_mde(n_cases, repetitions), digits) == points


def test_the_drop_solves_its_own_equation():
    """Written out once more, with the drop put into the variance it was solved from."""
    n, m, p, rho, kappa = 40, 2, 0.7, 0.3, 0.6
    drop = planning_mde(n, m, p=p, rho=rho, kappa=kappa, alpha=0.1, power=0.9)
    a, b = p * (1 - p), (p - drop) * (1 - p + drop)
    variance = rho * (a + b - 2 * kappa * math.sqrt(a * b)) + (1 - rho) * (a / m + b / m)

    t = t_quantile(0.95, n - 1) + t_quantile(0.9, n - 1)
    assert drop == pytest.approx(t * math.sqrt(variance / n), rel=1e-9)


def test_more_cases_and_more_repetitions_show_smaller_drops():
    by_cases = [planning_mde(n, 3) for n in (10, 20, 50, 200, 2000, 20000)]
    by_repetitions = [planning_mde(50, m) for m in (1, 2, 5, 50)]

    assert by_cases == sorted(by_cases, reverse=True)
    assert by_repetitions == sorted(by_repetitions, reverse=True)


@pytest.mark.parametrize("size", [(1, 1), (0, 3), (2, 1), (3, 1)])
def test_too_few_cases_show_no_drop_at_all(size):
    assert planning_mde(*size) is None


def test_rates_that_differ_much_cannot_be_as_alike_as_is_said():
    """Of a hundred cases that pass or fail for good, about five change: too few."""
    assert planning_mde(100, 10, p=0.05, rho=0.9, kappa=0.9) is None
    assert planning_mde(1000, 10, p=0.05, rho=0.9, kappa=0.9) < 0.02


def test_a_rate_of_zero_cannot_drop():
    assert planning_mde(100, 3, p=0.0) is None
    assert Planner(Thresholds(), Assumptions(0.04)).cases(0.05, 3) is None


@pytest.mark.parametrize("margin", [0.01, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("repetitions", [1, 3, 10])
def test_cases_for_a_margin_are_the_fewest_that_show_it(margin, repetitions):
    n = USUAL.cases(margin, repetitions, same_night=True)

    assert USUAL.smallest(n, repetitions, same_night=True) <= margin
    assert USUAL.smallest(n - 1, repetitions, same_night=True) > margin


@pytest.mark.parametrize("wrong", [{"p": 1.1}, {"rho": -0.1}, {"kappa": 2}, {"repetitions": 0}])
def test_impossible_assumptions_are_errors(wrong):
    with pytest.raises(ValueError, match="got"):
        planning_mde(**({"n_cases": 20, "repetitions": 1} | wrong))


def test_the_collector_can_plan_with_it_without_loading_an_engine():
    code = "import analyze.stats.power.planning, analyze.power.render"
    run_without(code, "numpy", "duckdb", "pyarrow", "polars")


@pytest.mark.parametrize(("n_cases", "repetitions"), [(50, 1), (100, 3), (1000, 1)])
def test_from_fifty_cases_on_one_night_is_the_formula(n_cases, repetitions):
    found = USUAL.smallest(n_cases, repetitions, same_night=True)

    assert found == planning_mde(n_cases, repetitions)


def test_a_certain_model_is_promised_no_difference_that_trials_cannot_make():
    assert CERTAIN.smallest(100, 3, same_night=True) == pytest.approx(0.0741, abs=1e-4)
    assert CERTAIN.smallest(100, 3) == CERTAIN.smallest(100, 1)
    assert CERTAIN.repetitions(0.05, 100) is None
    n = CERTAIN.cases(0.05, 3, same_night=True)
    shows = [CERTAIN.smallest(count, 1, same_night=True) for count in (n, n - 1)]
    assert shows[0] <= 0.05 < shows[1]


@pytest.mark.parametrize("n_cases", [30, 100, 300])
def test_a_certain_models_drop_is_found_as_often_as_planned(n_cases):
    """Every case that changes goes from passed to failed; 600 draws, so two standard errors."""
    dice, drop = random.Random(4), CERTAIN.smallest(n_cases, 1, same_night=True)
    found = 0
    for _ in range(600):
        before = [dice.random() < 0.8 for _ in range(n_cases)]
        after = [passed and dice.random() >= drop / 0.8 for passed in before]
        ones = [1] * n_cases
        found += sign_flip(list(map(int, before)), ones, list(map(int, after)), ones).p <= 0.05

    assert 0.77 <= found / 600 <= 0.93


def test_below_six_cases_no_drop_is_promised_however_often_they_are_asked():
    ones, zeros = [9] * 5, [0] * 5
    assert sign_flip(ones[:4], ones[:4], zeros[:4], ones[:4]).p > 0.05
    assert sign_flip(ones, ones, zeros, ones).p <= 0.05
    assert USUAL.smallest(5, 1000) is None
    assert USUAL.smallest(6, 10) is not None
    assert USUAL.cases(0.7, 1000) == 6


def test_more_repetitions_than_needed_are_not_asked_for():
    needed = USUAL.repetitions(0.08, 200)

    assert USUAL.smallest(200, needed) <= 0.08 < USUAL.smallest(200, needed - 1)
    assert USUAL.repetitions(0.2, 1000) == 1
    assert USUAL.repetitions(0.01, 200) is None

"""What planning promises: the power of the test that decides, by a second generator."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta, multinomial, nct, norm, t

from analyze.stats.exact_tests import sign_flip
from analyze.stats.paired_rates import rate_difference
from analyze.stats.power.assumptions import Assumptions, ObservedCase, ObservedRun, assumptions_of
from analyze.stats.power.exact import MIN_FORMULA_CASES, SIZES, PairModel, exact_mde
from analyze.stats.power.nights import Nights, cases_for_unchanged, interval_se, night_reach
from analyze.stats.power.planning import Planner, size_answer
from analyze.stats.power.smallest_drop import most_alike
from schemas.config.project import Thresholds
from tests.support.paths import ROOT

USUAL = Planner(Thresholds())
MODEL = PairModel(0.8, 0.5, 0.9)


@pytest.fixture
def planned_power(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import planned_power

    return planned_power


@pytest.mark.parametrize("n", [7, 9, 12])
def test_one_trial_a_case_is_enumerated(n):
    """Over all tables of worse and better cases, by the test itself."""
    drop = exact_mde(n, 1, MODEL)

    def power(drop):
        differ = MODEL.variance(drop, 1) + drop**2
        shares = [(differ + drop) / 2, (differ - drop) / 2, 1 - differ]
        total = 0.0
        for worse in range(n + 1):
            for better in range(min(worse, n + 1 - worse)):
                before = [1] * worse + [0] * better
                after = [0] * worse + [1] * better
                ones = [1] * (worse + better)
                if sign_flip(before, ones, after, ones).p <= 0.05:
                    total += multinomial.pmf([worse, better, n - worse - better], n, shares)
        return total

    assert power(drop) == pytest.approx(0.8, abs=1e-3)
    assert power(0.95 * drop) < 0.79


@pytest.mark.parametrize(("n", "m"), [(7, 1), (10, 1), (23, 1), (6, 3), (11, 3), (30, 3), (9, 5)])
def test_the_promised_power_is_reached_within_a_night_and_between_nights(planned_power, n, m):
    """Three standard errors of 2,000 draws are 2.7 points."""
    same, of_same, nights, of_nights = planned_power.powers(n, m, Assumptions(), draws=2_000)

    assert 0.77 - 0.027 <= of_same <= 0.84 + 0.027
    assert of_nights >= 0.77 - 0.027
    assert same <= nights


def test_the_draws_of_the_simulation_are_judged_as_the_commands_judge(planned_power):
    base, candidate = planned_power.runs(12, 3, MODEL, 0.2, draws=40, seed=(1,))
    shown = planned_power.shown_worse(planned_power.cells_of(base, candidate, 3), 3)
    difference, below, above = planned_power.interval_of(base, candidate, 3)

    for at, (k_a, k_b) in enumerate(zip(base.tolist(), candidate.tolist(), strict=True)):
        threes = [3] * 12
        found = rate_difference(k_a, threes, k_b, threes)
        assert found.low == pytest.approx(max(difference[at] - below[at], -1), abs=1e-9)
        assert found.high == pytest.approx(min(difference[at] + above[at], 1), abs=1e-9)
        p = sign_flip(k_a, threes, k_b, threes).p
        assert shown[at] == (p <= 0.05 and sum(k_b) < sum(k_a))


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 10, 30])
def test_more_cases_show_smaller_drops_across_the_table_and_into_the_formula(m):
    found = [USUAL.smallest(n, m, same_night=True) for n in (*range(7, 60), 100)]

    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("n", [*SIZES, 25, 49])
def test_more_repetitions_show_smaller_drops(n):
    found = [USUAL.smallest(n, m, same_night=True) or 1 for m in (1, 1.5, 2, 3, 4, 7, 10, 20, 100)]

    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(
    "model", [PairModel(p, rho, kappa) for p in (0.01, 0.5, 0.999) for rho in (0, 0.5, 1)
              for kappa in (0, 0.95, 1)],
)  # fmt: skip
def test_any_model_has_an_answer_between_nothing_and_its_own_rate(model):
    for n in (6, 17, 49):
        for m in (1, 1.01, 3, 40):
            found = exact_mde(n, m, model, alpha=0.01, power=0.9)
            assert found is None or 0 < found <= model.p


def test_sizes_that_are_not_the_tables_are_refused():
    for n in (5, MIN_FORMULA_CASES):
        with pytest.raises(ValueError, match="6 to 49 cases"):
            exact_mde(n, 3, MODEL)


def test_a_stricter_alpha_and_a_higher_power_are_kept_too(planned_power):
    limits = Thresholds(alpha=0.01, power=0.9)
    for n, m in ((12, 1), (20, 3)):
        drop = Planner(limits).smallest(n, m, same_night=True)
        runs = planned_power.runs(n, m, MODEL, drop, draws=2_000, seed=(n, m))
        shown = planned_power.shown_worse(planned_power.cells_of(*runs, m), m, 0.01)
        assert 0.85 <= shown.mean() <= 0.95


@pytest.mark.parametrize("rho", [0.25, 0.5, 0.75, 0.9])
@pytest.mark.parametrize(("p", "worse"), [(0.97, 0.9), (0.8, 0.7), (0.8, 0.48), (0.6, 0.2)])
def test_how_alike_case_rates_can_be(rho, p, worse):
    place, size = (np.arange(4000) + 0.5) / 4000, 1 / rho - 1
    one, other = (beta.ppf(place, mean * size, (1 - mean) * size) for mean in (p, worse))

    assert most_alike(p, worse, rho) == pytest.approx(np.corrcoef(one, other)[0, 1], abs=0.04)


def test_the_expected_width_is_the_mean_width(planned_power):
    for n, m in ((20, 3), (60, 1), (60, 10)):
        runs = planned_power.runs(n, m, MODEL, 0.1, draws=1_000, seed=(n, m))
        _, _, above = planned_power.interval_of(*runs, m)
        assert interval_se(n, m, MODEL, 0.1) == pytest.approx(above.mean() / 1.96, rel=0.05)


def test_unchanged_needs_both_limits_inside():
    """A normal difference with a known error: exactly the wanted power at the answer."""
    n = cases_for_unchanged(lambda count: 0.9 / math.sqrt(count), 0.05)
    room = 0.05 / (0.9 / math.sqrt(n)) - norm.ppf(0.95)

    assert norm.cdf(room) - norm.cdf(-room) == pytest.approx(0.8, abs=0.002)


def test_no_number_of_cases_makes_up_for_nights():
    assert USUAL.cases(0.05, 3) is None
    assert USUAL.cases_unchanged(0.05, 3) is None
    known = Planner(Thresholds(), replace(Assumptions(), nights=Nights(0.0, 20)))
    assert USUAL.cases(0.05, 3, same_night=True) <= known.cases(0.05, 3) < 500
    assert known.cases_unchanged(0.05, 3) < 500
    restless = Planner(Thresholds(), replace(Assumptions(), nights=Nights(0.05**2, 20)))
    assert restless.smallest(1000, 10) > USUAL.smallest(1000, 10) > known.smallest(1000, 10)


def test_a_known_night_is_planned_with_to_the_power():
    """Many cases leave the nights alone: then it is the power of a t test of one difference."""
    known = Planner(Thresholds(), replace(Assumptions(), nights=Nights(0.02**2, 20)))
    drop = known.smallest(500_000, 10)
    variance = 2 * Nights(0.02**2, 20).variance(0.5 * (0.16 + (0.8 - drop) * (0.2 + drop)) / 2)

    shown = nct.sf(nct.ppf(0.975, 23, 0), 23, drop / math.sqrt(variance))
    assert shown == pytest.approx(0.8, abs=0.01)


def nightly(random, n_runs, sd, n=30, m=3):
    """Return runs of one model, newest first, each case at its own rate, nights moved by `sd`."""
    rates = random.beta(0.8, 0.2, n).clip(0.02, 0.98)
    runs = []
    for at in range(n_runs):
        odds = np.exp(np.log(rates / (1 - rates)) + random.normal(0, sd))
        passed = random.binomial(m, odds / (1 + odds))
        cases = {str(c): ObservedCase("same", m, int(k)) for c, k in enumerate(passed)}
        runs.append(ObservedRun((f"night_{at}",), cases))
    within = float((rates * (1 - rates)).mean())
    return runs, within


@pytest.mark.parametrize("sd", [0.0, 0.4])
def test_how_nights_vary_is_learned_from_the_runs(sd):
    random, found, true = np.random.default_rng(8), [], []
    for _ in range(150):
        runs, within = nightly(random, 20, sd)
        given = assumptions_of(runs, margin=1.0)  # no step is a level shift
        assert (given.nights.n_runs, len(given.night_run_ids)) == (20, 20)
        found.append(given.nights.seen)
        true.append((sd * within) ** 2)

    # what is below nothing is nothing: without nights the mean lies a little above it
    assert np.mean(found) == pytest.approx(np.mean(true), rel=0.3, abs=0.00012)


def test_two_runs_tell_nothing_of_nights_and_other_cases_are_no_night():
    runs, _ = nightly(np.random.default_rng(1), 6, 0.3)
    other = {name: case._replace(case_hash="other") for name, case in runs[3].cases.items()}
    mixed = [*runs[:3], ObservedRun(("other",), other), *runs[4:]]

    assert assumptions_of(runs[:2]).nights == Nights()
    assert assumptions_of(runs[:3]).nights.n_runs == 3
    assert assumptions_of(mixed).night_run_ids == tuple(f"night_{n}" for n in (0, 1, 2, 4, 5))


@pytest.mark.parametrize("drop", [0.0, 0.3])
def test_nights_before_a_level_shift_say_nothing_of_how_nights_vary(drop):
    """Twelve nights, and eight after a step: the step itself is no night's luck."""
    random = np.random.default_rng(12)
    rates = random.beta(0.8, 0.2, 30).clip(0.05, 0.95)
    runs = []
    for at in range(20):
        passed = random.binomial(3, rates if at < 8 else (rates - drop).clip(0.02, 1))
        cases = {str(c): ObservedCase("same", 3, int(k)) for c, k in enumerate(passed)}
        runs.append(ObservedRun((f"night_{at}",), cases))
    given = assumptions_of(runs, margin=0.05)

    assert given.nights.n_runs == (8 if drop else 20)
    assert given.night_run_ids == tuple(f"night_{at}" for at in range(given.nights.n_runs))
    assert given.nights.seen < 0.02**2


@pytest.mark.parametrize(
    "nights", [Nights(), Nights(0.0, 4), Nights(0.00002, 8), Nights(0.001, 20)]
)
@pytest.mark.parametrize("rate", [0.6, 0.9, 0.97, 0.99])
@pytest.mark.parametrize("rho", [0.3, 0.8])
def test_more_repetitions_never_take_more_cases(nights, rate, rho):
    """Degrees of freedom fall as cases grow, and with them the search had lost its way."""
    given = replace(Assumptions(), pass_rate=rate, rho=rho, share_within=1 - rho, nights=nights)
    planner = Planner(Thresholds(), given)
    columns = (1, 2, 3, 5, 10)
    for needed in (
        [planner.cases_unchanged(0.05, m) for m in columns],
        [planner.cases(0.05, m) for m in columns],
    ):
        known = [math.inf if one is None else one for one in needed]
        assert known == sorted(known, reverse=True)


def test_more_cases_never_show_less_between_nights():
    for nights in (Nights(), Nights(0.0004, 6)):
        planner = Planner(Thresholds(), replace(Assumptions(), nights=nights))
        found = [planner.smallest(round(n), 3) for n in np.geomspace(50, 200_000, 60)]
        assert all(one >= other - 1e-9 for one, other in itertools.pairwise(found))


@pytest.mark.parametrize("df", [4.0, 4.3, 7.9, 23.5, 63.5, 64.2, 150.0, 900.0])
def test_quantiles_between_whole_degrees_of_freedom(df):
    """scipy's t takes any number of them; no size is promised more than endless cases hold."""
    found = night_reach(math.sqrt(math.sqrt(df / 4) - 1), 1.0, 4, (0.975, 0.8))
    error = math.sqrt(math.sqrt(df / 4))
    endless = t.ppf(0.975, 4) + t.ppf(0.8, 4)
    exact = (t.ppf(0.975, df) + t.ppf(0.8, df)) * error
    assert found == pytest.approx(max(exact, endless), rel=2e-3)


def test_the_answer_for_a_size_has_the_nights_of_both_sides():
    given = replace(Assumptions(), nights=Nights(0.03**2, 20))
    size = {"n_cases": 200, "repetitions": 3}
    pair = size_answer(given, Thresholds(), **size)
    of_seven = size_answer(given, Thresholds(), **size, nights=1 + 1 / 7)

    assert pair.smallest > of_seven.smallest > pair.smallest_same_night
    assert pair.smallest_same_night == of_seven.smallest_same_night
    near = size_answer(replace(given, pass_rate=0.98), Thresholds(), **size)
    assert (pair.margin, near.margin) == (0.05, pytest.approx(0.02))

"""Cases that name a cluster are one draw together, from the run folder to what commands print."""

import json
import math

import pytest

from analyze.stats.intervals import wilson_shrunk
from analyze.stats.paired_means import paired_t
from analyze.stats.paired_rates import rate_difference
from analyze.stats.power.assumptions import ObservedCase, ObservedRun, assumptions_of
from tests.support.analyze_cli import call
from tests.support.nights import Nights
from tests.support.two_nights import night

pytestmark = pytest.mark.usefixtures("warm_engines")

BEFORE = [3, 3, 3, 3, 2, 3, 3, 3, 3, 3, 0, 1, 0, 0, 1, 3, 3, 2, 3, 3] * 2
AFTER = [2, 1, 2, 1, 1, 3, 3, 3, 3, 3, 0, 0, 0, 0, 1, 3, 3, 2, 3, 3] * 2
FAMILY = 5
"""Cases of a cluster; the last family of all stands alone, case by case."""


def clustered(n_cases, size=FAMILY, alone=0):
    """Return the plan of a night whose first cases are in clusters."""

    def plan(case, repetition, model_id):
        return {"cluster": f"family/{case // size}"} if case < n_cases - alone else {}

    return plan


def sums(passes, n_units, size=FAMILY):
    return [sum(passes[size * unit : size * (unit + 1)]) for unit in range(n_units)]


@pytest.fixture
def ask(tmp_path):
    """Return any command over the runs of this test."""
    return lambda name, *args: call(name, *args, "--runs", tmp_path / "runs")


@pytest.fixture
def compared(ask):
    def found(*sides):
        (group,) = json.loads(ask("compare", *sides, "--format", "json").out)["groups"]
        return group

    return found


def test_a_summary_rests_on_clusters(new_run):
    run = night(new_run, 0, BEFORE, plan=clustered(40, alone=5))
    interval = run.group().passed_ci95
    plain = wilson_shrunk([*sums(BEFORE, 7), *BEFORE[35:]], [15] * 7 + [3] * 5)

    assert (interval.n_cases, interval.n_clusters, interval.n_trials) == (40, 12, 120)
    assert (interval.low, interval.high) == (plain.low, plain.high)
    alone = night(new_run, 1, BEFORE).group().passed_ci95
    assert alone.n_clusters is None
    assert alone.high - alone.low < interval.high - interval.low


def test_a_comparison_tests_clusters_and_says_so(new_run, ask, compared):
    """What five cases of a template came to in one night is one observation, not five."""
    night(new_run, 0, BEFORE, plan=clustered(40))
    night(new_run, 1, AFTER, plan=clustered(40))
    night(new_run, 2, AFTER)
    group, alone = compared("night_00", "night_01"), compared("night_00", "night_02")
    found = group["difference"]
    plain = rate_difference(sums(BEFORE, 8), [15] * 8, sums(AFTER, 8), [15] * 8)

    assert (found["n_cases"], found["n_clusters"], found["n_nonzero"]) == (40, 8, 4)
    assert [found[name] for name in ("difference", "low", "high", "low90", "high90")] == [
        plain.difference, plain.low, plain.high, plain.low90, plain.high90,
    ]  # fmt: skip
    assert found["base_rate"] == pytest.approx(sum(BEFORE) / 120)
    assert found["p"] > alone["difference"]["p"]
    assert alone["difference"]["n_clusters"] is None
    assert group["base"]["ci95"]["n_clusters"] == 8
    assert "40 cases in 8 clusters" in ask("compare", "night_00", "night_01").out
    assert "cluster" not in ask("compare", "night_00", "night_02").out


def test_the_clusters_of_the_candidate_count(new_run, compared):
    """Cases are put into clusters after the baseline was run, or taken out of them."""
    night(new_run, 0, BEFORE)
    night(new_run, 1, AFTER, plan=clustered(40))
    night(new_run, 2, AFTER, plan=clustered(40, size=10))

    def n_clusters(*sides):
        return compared(*sides)["difference"]["n_clusters"]

    assert n_clusters("night_00", "night_01") == 8
    assert n_clusters("night_01", "night_00") is None
    assert n_clusters("night_01", "night_02") == 4
    assert n_clusters("night_00", "night_01,night_02") == 4, "its newest run decides"


def test_times_are_compared_cluster_by_cluster(new_run, compared):
    def slower(case, repetition, model_id):
        return {"e2e_ms": 100 + 10 * case + repetition}

    night(new_run, 0, BEFORE, plan=clustered(40, alone=5))
    night(new_run, 1, AFTER, plan=clustered(40, alone=5), result=slower)
    ratio = next(one for one in compared("night_00")["ratios"] if one["metric"] == "e2e_ms")
    logs = [
        math.log(math.prod(100 + 10 * case + n for n in (1, 2, 3))) / 3 - math.log(400)
        for case in range(40)
    ]
    units = [sum(logs[5 * n : 5 * n + 5]) / 5 for n in range(7)] + logs[35:]

    assert (ratio["n_cases"], ratio["n_clusters"]) == (40, 12)
    assert ratio["ratio"] == pytest.approx(math.exp(paired_t(units).mean), rel=1e-9)


def test_a_gate_needs_five_clusters(new_run, ask):
    for number in (0, 1):
        night(new_run, number, BEFORE[:20], plan=clustered(20))
    done = ask("gate", "--baseline", "previous")

    assert done.code == 3
    assert "20 cases in 4 clusters have a verdict on both sides; a gate needs 5 clusters" in (
        " ".join(done.out.split())
    )
    for number in (2, 3):
        night(new_run, number, BEFORE[:25], plan=clustered(25))
    assert ask("gate", "--baseline", "previous").code == 0


def test_a_single_cluster_is_no_sample(new_run, compared, ask):
    for number in (0, 1):
        night(new_run, number, BEFORE[:20], plan=clustered(20, size=20))

    assert compared("night_00")["difference"] is None
    assert ask("compare", "night_00").code == 0


def test_routing_and_lists_of_runs_rest_on_clusters(new_run, ask):
    night(new_run, 0, BEFORE)
    night(new_run, 1, AFTER, plan=clustered(40))

    text = " ".join(ask("route", "--min-quality", "0.2").out.split())
    assert "240 trials in 40 cases in 8 clusters" in text
    listed = json.loads(ask("runs", "--json").out)
    found = {run["run_id"]: run["passed_ci95"]["n_clusters"] for run in listed}
    assert found == {"night_00": None, "night_01": 8}


def test_a_level_shift_is_of_clusters(tmp_path):
    """The newest run decides, for all runs before it."""
    nights = Nights(tmp_path / "runs", n_cases=30)
    nights.add(8, rates={"m": 0.95})
    nights.add(7, rates={"m": 0.3})
    nights.add(1, rates={"m": 0.3}, clusters=5)
    document = json.loads(call("regressions", "--runs", tmp_path / "runs", "--format", "json").out)
    shift = next(one for one in document["shifts"] if one["series"]["metric"] == "passed_rate")

    assert (shift["n_cases"], shift["n_clusters"]) == (30, 6)
    assert shift["first_run"] == "night-009"
    said = call("regressions", "--runs", tmp_path / "runs").out
    assert "30 cases in 6 clusters" in " ".join(said.split())


def test_power_is_planned_in_clusters_and_their_trials(new_run, ask):
    def planned():
        (model,) = json.loads(ask("power", "--json").out)["models"]
        return model

    for number in (0, 1):
        night(new_run, number, BEFORE)
    alone = planned()
    night(new_run, 2, AFTER, plan=clustered(40))
    model = planned()

    assert (alone["n_cases"], alone["repetitions"], alone["cases_per_cluster"]) == (40, 3, None)
    assert (model["n_cases"], model["repetitions"], model["cases_per_cluster"]) == (8, 15, 5.0)
    assert (model["run_ids"], model["before_run_ids"]) == (["night_02"], ["night_01"])
    assert model["smallest_difference"] > alone["smallest_difference"]
    said = " ".join(ask("power").out.split())
    assert "8 clusters of scorable cases x 15 trials can show" in said
    assert "known from run night_02 (8 clusters with a verdict)" in said


def test_repetitions_that_never_differ_leave_a_cluster_a_trial_a_case():
    same = ObservedCase("h", 3, 3, is_repeated=True, is_identical=True)
    failed = ObservedCase("h", 3, 0, is_repeated=True, is_identical=True)
    cases = {f"c{number}": failed if number % 3 == 0 else same for number in range(40)}
    clusters = {f"c{number}": f"f{number // 5}" for number in range(40)}
    run = ObservedRun(("r",), cases)

    given = assumptions_of([run], clusters)

    assert given.draws(40, 3) == (8, 5)
    assert given.repeating_helps, "a cluster has several cases"
    assert 0 <= given.rho < 1
    assert assumptions_of([run]).repetitions_identical
    assert assumptions_of([run], dict.fromkeys(clusters)) == assumptions_of([run])
    assert assumptions_of([], clusters).draws(20, 2) == (4, 10)

"""One smallest visible drop and one number of cases: the same wherever they are asked for."""

import json
import math
import shutil

import pytest

from analyze.render.numbers import points, whole
from analyze.stats.power.exact import more_cases_above, more_cases_for_tier
from collect.console.run_summary import detectable_lines
from collect.plan.plan import sizes_of, trial_of
from collect.plan.previous_runs import powers_json, powers_of, previous_outcomes
from schemas.base import Interval
from schemas.config.project import Thresholds
from schemas.run.model_names import ModelNames
from tests.support.analyze_cli import call
from tests.support.nights import Nights
from tests.support.paths import SAMPLES
from tests.support.run_builder import RunBuilder

pytestmark = pytest.mark.usefixtures("warm_engines")

RATES = {"good": 0.9, "poor": 0.6}
LIMITS = Thresholds()


def plain(runs_dir):
    Nights(runs_dir, 24, 3).add(4, rates=RATES)


def clustered(runs_dir):
    Nights(runs_dir, 40, 2).add(4, rates=RATES, clusters=5)


def with_holes(runs_dir):
    Nights(runs_dir, 40, 2, seed=11).add(4, rates=RATES, lost=0.03)


def near_the_end(runs_dir):
    Nights(runs_dir, 60, 3).add(3, rates={"good": 0.985, "best": 1.0})


def shifted(runs_dir):
    nights = Nights(runs_dir, 30, 3)
    nights.add(5, rates={"good": 0.95})
    nights.add(5, rates={"good": 0.6})


def sampled(runs_dir):
    for number in ("01", "02"):
        shutil.copytree(SAMPLES / f"night_{number}", runs_dir / f"night_{number}")


HISTORIES = (plain, clustered, with_holes, near_the_end, shifted, sampled)


def asked(*words):
    done = call(*words)
    assert done.code in {0, 1}, done.err
    return json.loads(done.out)


def said(*words):
    return " ".join(call(*words).out.split())


def by_model(records, name="model_id"):
    return {record[name]: record for record in records}


def of_the_collector(runs_dir, newest):
    """Return what `collect plan` answers as JSON, and the last words of `collect run`."""
    with (runs_dir / newest / "plan.jsonl").open("rb") as plan:
        sizes = sizes_of(map(trial_of, plan))
    suite_id = json.loads((runs_dir / newest / "config.json").read_text())["suite_id"]
    plans = powers_of(sizes, previous_outcomes(runs_dir, suite_id, sizes), LIMITS)
    lines = detectable_lines(sizes, runs_dir, suite_id, LIMITS, ModelNames())
    return by_model(powers_json(plans)), lines


@pytest.mark.parametrize("make", HISTORIES, ids=lambda make: make.__name__)
def test_every_place_says_one_number(tmp_path, make):
    runs_dir = tmp_path / "runs"
    runs_dir.mkdir()
    make(runs_dir)
    newest = max(path.name for path in runs_dir.iterdir() if path.name != "lake")
    at = ("--runs", runs_dir)
    power = by_model(asked("power", *at, "--json")["models"])
    compared = by_model(asked("compare", "previous", *at, "--json")["groups"])
    gate = asked("gate", "--baseline", "previous", *at, "--json")
    texts = (
        [said("power", *at), said("compare", "previous", *at)]
        if make in {clustered, sampled}
        else []
    )
    planned, last_words = of_the_collector(runs_dir, newest)

    assert compared.keys() == power.keys() == planned.keys()
    for model_id, group in compared.items():
        own, found = power[model_id], group["difference"]
        assert {**planned[model_id], "table": None} == {**own, "table": None}
        (line,) = [one for one in gate["lines"] if one["model_id"] == model_id]
        # the smallest drop
        smallest = own["smallest_difference"]
        assert (found["detectable"], line["unseen"]) == (smallest or 1.0, smallest or 1.0)
        shown = f"{points(smallest)} points"
        (words,) = [one for one in last_words if model_id in one.partition(":")[0]]
        assert f"a drop of {shown} or more between two nights" in words
        if "drops under" in line["why"]:
            assert f"drops under {shown} would be seen" in line["why"]
        # the cases that the margin takes
        often = f"{found['repetitions']:g}"
        needed = own["cases_unchanged"][often]
        assert found["n_planned_units"] == own["n_cases"]
        assert found["margin"] == pytest.approx(own["margin"])
        assert found["cases_needed_same_night"] == own["cases_unchanged_same_night"][often]
        assert found["is_beyond_reach"] == (needed is None)
        unit = "clusters" if found["n_clusters"] else "cases"
        if needed is None:
            assert found["cases_needed"] is None
            size = f"no number of {unit}"
        else:
            assert found["cases_needed"] == (needed if needed > own["n_cases"] else None)
            size = f"about {whole(needed)} {unit} x {often}"
        assert size in words
        is_smaller = own["margin"] < own["difference"]
        assert (f"{points(own['margin'])} points (the margin near 100 %)" in words) == is_smaller
        is_said = group["verdict"] == "inconclusive" and (needed is None or found["cases_needed"])
        for reasons in (
            group["reasons"],
            by_model(gate["comparison"]["groups"])[model_id]["reasons"],
        ):
            assert (f" {size}" in " ".join(reasons)) == bool(is_said)
        if texts:
            assert f"a drop of {shown} or more between two nights" in texts[0]
            assert f"{whole(needed)} {unit} x {often}" in texts[0] or needed is None
            assert f" {size}" in texts[1] or not is_said


def test_other_repetitions_are_said_and_the_cases_are_those_of_the_new_ones(tmp_path):
    nights = Nights(tmp_path, 40, 3)
    nights.add(3, rates={"good": 0.8})
    nights.repetitions = 5
    nights.add(1, rates={"good": 0.8})
    at = ("--runs", tmp_path)
    (own,) = asked("power", *at, "--json")["models"]
    (group,) = asked("compare", "previous", *at, "--json")["groups"]
    found = group["difference"]

    assert found["planned_repetitions"] == [3, 5]
    assert found["repetitions"] == own["repetitions"] == 5
    needed = own["cases_unchanged"]["5"]
    assert (found["cases_needed"], found["is_beyond_reach"]) == (needed, needed is None)
    assert found["cases_needed_same_night"] == own["cases_unchanged_same_night"]["5"]
    fewer = asked("power", *at, "--json", "--repetitions", "3")["models"][0]
    assert own["smallest_difference"] < found["detectable"] < fewer["smallest_difference"]
    assert "by 3 trials of a case against 5" in said("compare", "previous", *at)


def test_what_cannot_drop_is_promised_no_drop(tmp_path):
    Nights(tmp_path, 20, 3).add(2, rates={"lost": 0.0})
    text = said("gate", "--baseline", "previous", "--runs", tmp_path)

    assert "no regression shown; a pass rate of 0 % cannot drop" in text
    assert "can show a rise of" in said("power", "--runs", tmp_path)


def test_the_cases_within_one_night_are_the_interval_carried_on(tmp_path):
    """By hand: both 90 % limits inside with 80 % takes (1.645 + 1.282) standard errors."""
    Nights(tmp_path, 24, 3).add(2, rates={"good": 0.7})
    (group,) = asked("compare", "previous", "--runs", tmp_path, "--json")["groups"]
    found = group["difference"]
    se = (found["high90"] - found["low90"]) / 2 / 1.6448536

    by_hand = math.ceil(24 * ((1.6448536 + 1.2815516) * se / 0.05) ** 2)
    assert found["cases_needed_same_night"] == pytest.approx(by_hand, abs=1)


def test_a_baseline_of_several_nights_is_better_known_than_one(tmp_path):
    Nights(tmp_path, 40, 2).add(8, rates={"good": 0.8})
    at = ("--runs", tmp_path, "--json")
    (of_one,) = asked("compare", "previous", *at)["groups"]
    (of_seven,) = asked("compare", "night-001,night-002,night-003,night-004,night-005,night-006,"
                        "night-007", "night-008", *at)["groups"]  # fmt: skip

    assert of_seven["difference"]["detectable"] < of_one["difference"]["detectable"]
    assert of_seven["difference"]["planned_repetitions"] == [14, 2]


def test_routes_and_tiers_ask_for_as_many_cases_more(tmp_path):
    """By the mean over cases that the interval is of, also where cases are asked unequally."""
    same = {"tool_calls": ("df",), "tool_call_count": 1}
    cases = {f"c{n}": [same | {"tool_use_success": True}] for n in range(12)}
    cases |= {f"c{n}": [same | {"tool_use_success": False}] * 6 for n in range(12, 15)}
    run = RunBuilder(tmp_path, "night")
    run.night(cases, models=("m",), plan={"expected_tools": ("df",)})
    (tier,) = asked("tiers", "--runs", tmp_path, "--json")
    (model,) = asked("route", "--need", "tool_use", "--runs", tmp_path, "--json")["models"]
    (reason,) = [one for one in model["reasons"] if one["need"] == "tool_use"]

    assert tier["tool_use_rate"] == pytest.approx(0.4)
    assert tier["ci95"]["estimate"] == pytest.approx(0.8)
    assert tier["more_cases"] is reason["more_cases"] is None, "the two lie in different tiers"


def test_more_cases_go_by_the_mean_that_the_interval_is_of():
    interval = Interval(low=0.6, high=0.9, estimate=0.8, n_cases=30, n_trials=90, n_eff=45.0)
    pooled = interval.model_copy(update={"estimate": None})  # of a document of before

    assert more_cases_above(0.7, 0.95, 30, interval) == more_cases_above(0.7, 0.8, 30, pooled)
    assert more_cases_above(0.7, 0.95, 30, interval) > more_cases_above(0.7, 0.95, 30, pooled)
    assert more_cases_above(0.85, 0.95, 30, interval) is None
    assert more_cases_for_tier(0.99, 30, interval) is None, "0.8 lies on the bound"
    assert more_cases_for_tier(0.7, 30, interval) is None, "its mean is of tier 1"

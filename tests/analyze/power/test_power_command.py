"""`analyze power` over real run folders: what the last runs tell, and what is only assumed."""

import hashlib
import json
import random
import statistics

import pytest

from analyze.render.text import cells
from analyze.stats.power.assumptions import ObservedCase, ObservedRun, assumptions_of
from analyze.stats.power.planning import Planner
from schemas.config.project import Thresholds
from tests.support.analyze_cli import call, forked
from tests.support.run_builder import routed

pytestmark = pytest.mark.usefixtures("warm_engines")


P, RHO, KAPPA = 0.7, 0.4, 0.75
"""Of the simulated model."""

ASSUMED = ["pass_rate", "rho", "kappa"]


def drawn(dice, n_cases, reps):
    """Draw passes of two runs: rates are beta with intra-case correlation RHO, and a case keeps its
    rate in the second run with chance KAPPA, which is then the correlation of the true rates.
    """
    size = 1 / RHO - 1

    def rate():
        return dice.betavariate(P * size, (1 - P) * size)

    before = [rate() for _ in range(n_cases)]
    newest = [one if dice.random() < KAPPA else rate() for one in before]
    return [[[dice.random() < q for _ in range(reps)] for q in rates] for rates in (before, newest)]


@pytest.fixture
def history(new_run):
    """Write runs of one suite, oldest first, each a list of cases with their verdicts."""

    def write(*runs, answer=str, **fields):
        for number, run in enumerate(runs):
            cases = {
                f"c{n:03d}": [
                    {"passed": passed, "raw_output": answer(f"{n} {repetition}")}
                    for repetition, passed in enumerate(verdicts)
                ]
                for n, verdicts in enumerate(run)
            }
            folder = new_run(f"night_{number}", day=number).night(cases, plan=fields)
        return folder.runs_dir

    return write


def asked(runs_dir, *args):
    done = call("power", *args, "--runs", runs_dir, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def one_model(runs_dir, *args):
    (model,) = asked(runs_dir, *args)["models"]
    return model


def shown(runs_dir, *args):
    """Return the text on one line, after a look at its width."""
    done = call("power", *args, "--runs", runs_dir)
    assert done.code == 0, done.err
    assert max(map(cells, done.out.splitlines())) <= 80
    return " ".join(done.out.split())


def seen(run):
    cases = {
        str(n): ObservedCase(str(n), len(verdicts), sum(verdicts)) for n, verdicts in enumerate(run)
    }
    return ObservedRun(("r",), cases)


def test_what_is_estimated_is_what_was_simulated(history):
    """The tolerance is the simulation's own error: four standard deviations of one draw."""
    dice = random.Random(7)
    draws = []
    for _ in range(200):
        before, newest = drawn(dice, 60, 4)
        draws.append(assumptions_of([seen(newest), seen(before)]))
    runs = drawn(dice, 60, 4)
    model = one_model(history(*runs))

    assert model["assumed"] == []
    for name, true in (("pass_rate", P), ("rho", RHO), ("kappa", KAPPA)):
        found = [getattr(one, name) for one in draws]
        error = statistics.stdev(found)
        assert statistics.fmean(found) == pytest.approx(true, abs=4 * error / 200**0.5 + 0.01), name
        assert model[name] == pytest.approx(true, abs=4 * error), name
        assert error < 0.15, f"{name} cannot be told from such runs"


def test_the_plan_stands_on_the_estimates_and_names_their_runs(history):
    model = one_model(history(*drawn(random.Random(1), 30, 3)))
    planner = Planner(
        Thresholds(),
        assumptions_of([]).__class__(model["pass_rate"], model["rho"], model["kappa"], ()),
    )

    assert (model["n_cases"], model["repetitions"]) == (30, 3)
    assert (model["run_ids"], model["before_run_ids"]) == (["night_1"], ["night_0"])
    for field, same_night in (("", False), ("_same_night", True)):
        shows = planner.smallest(30, 3, same_night=same_night)
        assert model["smallest_difference" + field] == pytest.approx(shows, rel=0.02)
        needed = {str(m): planner.cases(0.05, m, same_night=same_night) for m in (1, 3, 5, 10)}
        assert model["cases_needed" + field] == needed
    assert model["smallest_difference"] > model["smallest_difference_same_night"]
    assert (model["nights"], model["night_run_ids"]) == ("assumed", [])
    assert {row["n_cases"] for row in model["table"]} == {15, 30, 60, 120, 300}


def test_one_run_alone_leaves_kappa_assumed_and_says_so(history):
    _, newest = drawn(random.Random(2), 30, 3)
    runs_dir = history(newest)
    model = one_model(runs_dir)

    assert (model["assumed"], model["kappa"], model["before_run_ids"]) == (["kappa"], 0.9, [])
    assert model["rho"] != 0.5
    assert "from run night_0 (30 cases with a verdict); assumed: kappa" in shown(runs_dir)


def test_runs_that_repeat_nothing_tell_the_pass_rate_alone(history):
    runs_dir = history([[n % 3 > 0] for n in range(30)], [[n % 2 > 0] for n in range(30)])
    model = one_model(runs_dir)

    assert model["pass_rate"] == 0.5
    assert model["assumed"] == ["rho", "kappa"]


def test_without_any_run_everything_is_assumed_aloud(tmp_path):
    (tmp_path / "runs").mkdir()
    text = shown(tmp_path / "runs")
    model = one_model(tmp_path / "runs", "--cases", "20")

    assert "no run to learn from" in text
    assert "all of this is assumed" in text
    assert "pass rate 80.0 %, rho 0.50, kappa 0.90; power 80 %, alpha 5 %" in text
    assert "5 points need 604 cases x 1, 240 cases x 3" in text
    assert (model["model_id"], model["repetitions"], model["assumed"]) == (None, 1, ASSUMED)
    assert model["smallest_difference_same_night"] == pytest.approx(0.340, abs=5e-4)
    assert model["smallest_difference"] == pytest.approx(0.345, abs=5e-4)


def test_identical_repetitions_count_as_one(history):
    run = [[n % 4 > 0] * 3 for n in range(40)]
    runs_dir = history(run, run, answer=lambda key: key.split()[0])
    model, text = one_model(runs_dir), shown(runs_dir)

    assert (model["repetitions_identical"], model["rho"], model["kappa"]) == (True, 1.0, 1.0)
    assert list(model["cases_needed"]) == ["1"]
    assert model["repetitions_needed"] is None
    assert "repetitions gave the same answers byte for byte: they count as one" in text
    assert model["smallest_difference"] > 5 / 40, "five cases must differ before a test can say so"


def test_repetitions_that_only_agree_count_as_one_too(history):
    run = [[n % 4 > 0] * 3 for n in range(40)]
    runs_dir = history(run, run)

    assert one_model(runs_dir)["repetitions_identical"] is False
    assert "repetitions always agreed on the verdict: they count as one" in shown(runs_dir)
    assert one_model(runs_dir)["smallest_difference"] > 5 / 40


def test_where_all_passed_no_difference_of_zero_is_promised(history):
    runs_dir = history([[True] * 3] * 20, [[True] * 3] * 20)
    model, text = one_model(runs_dir), shown(runs_dir)

    n_eff = 20 * 3 / (1 + 0.6 * (3 - 1))  # what the interval of 60 of 60 passes rests on
    assert (model["pass_rate_seen"], model["assumed"]) == (1.0, ["rho", "kappa"])
    assert model["pass_rate"] == pytest.approx(n_eff / (n_eff + 1.959964**2), abs=1e-6)
    assert model["smallest_difference"] > 0.1
    assert "every trial passed, so how much they vary is not known" in text
    assert "anything down to 87.7 %, which is planned with" in text


def test_where_none_passed_a_rise_is_what_can_be_shown(history):
    runs_dir = history([[False] * 3] * 20)
    model, text = one_model(runs_dir), shown(runs_dir)

    assert (model["direction"], model["pass_rate_seen"]) == ("rise", 0.0)
    all_passed = Planner(Thresholds(), assumptions_of([seen([[True] * 3] * 20)]))
    assert model["smallest_difference"] == pytest.approx(all_passed.smallest(20, 3))
    assert "can show a rise of" in text
    assert "no trial passed: such a rate cannot drop" in text


def test_a_rate_without_room_for_the_difference_says_so(history):
    runs_dir = history([[n < 2] * 2 for n in range(40)])
    text = shown(runs_dir, "--difference", "0.2")

    assert "a rate of 5.0 % has no room for a drop of 20 points" in text
    assert one_model(runs_dir, "--difference", "0.2")["cases_needed"] == {"1": None}


def test_a_difference_is_answered_in_cases_and_in_repetitions(history):
    runs_dir = history(*drawn(random.Random(3), 60, 3))
    model = one_model(runs_dir, "--difference", "0.14")
    text = shown(runs_dir, "--difference", "0.14")

    needed = model["repetitions_needed"]
    fewer = one_model(runs_dir, "--repetitions", str(needed - 1))["smallest_difference"]
    enough = one_model(runs_dir, "--repetitions", str(needed))["smallest_difference"]
    assert enough <= 0.14 < fewer
    for reps, cases in model["cases_needed"].items():
        shows = [
            one_model(runs_dir, "--cases", str(n), "--repetitions", reps)["smallest_difference"]
            for n in (cases, cases - 1)
        ]
        assert shows[0] <= 0.14 < shows[1]
    assert f"with 60 cases {needed} repetitions are enough" in text
    assert "smallest drop that is shown" not in text


def test_where_no_number_of_repetitions_suffices_it_says_so(history):
    runs_dir = history(*drawn(random.Random(3), 20, 3))

    assert one_model(runs_dir, "--difference", "0.01")["repetitions_needed"] is None
    text = shown(runs_dir, "--difference", "0.01")
    assert "20 cases are not enough between two nights, however often each is asked" in text


def test_fewer_than_five_cases_can_show_nothing(history):
    runs_dir = history([[True, False]] * 4)
    model, text = one_model(runs_dir), shown(runs_dir)

    assert (model["smallest_difference"], model["assumed"]) == (None, ASSUMED)
    assert "4 scorable cases x 2 repetitions are too few: no drop can be promised" in text
    assert "no earlier run of 5 cases or more" in text


def test_a_tiny_run_and_an_outage_are_passed_over(history, new_run):
    before, newest = drawn(random.Random(5), 30, 3)
    runs_dir = history(before, newest, newest[:2])
    new_run("outage", day=9).night([f"c{n:03d}" for n in range(30)], "http_500")
    model = one_model(runs_dir)

    assert (model["run_ids"], model["before_run_ids"]) == (["night_1"], ["night_0"])
    assert (model["n_cases"], model["repetitions"]) == (30, 3)


def test_the_run_that_is_named_is_the_newest_that_counts(history):
    runs = [run for seed in (1, 2) for run in drawn(random.Random(seed), 30, 3)]
    runs_dir = history(*runs)
    model = one_model(runs_dir, "--run", "night_2")

    assert (model["run_ids"], model["before_run_ids"]) == (["night_2"], ["night_1"])
    assert asked(runs_dir, "--suite", "smoke")["run_ids"] == ["night_3"]
    assert one_model(runs_dir, "--run", runs_dir / "night_0")["before_run_ids"] == []


def test_answers_of_an_older_run_are_no_new_draw(history, new_run):
    runs_dir = history(*drawn(random.Random(5), 30, 3))
    reused = {"passed": True, "reused_from_run_id": "night_1"}
    new_run("reused", day=9).night([f"c{n:03d}" for n in range(30)], reused)

    assert one_model(runs_dir)["run_ids"] == ["night_1"]


def test_changed_cases_say_nothing_of_kappa(history, new_run):
    _, newest = drawn(random.Random(5), 30, 3)
    runs_dir = history(newest)
    cases = {f"c{n:03d}": verdicts for n, verdicts in enumerate(newest)}
    new_run("other", day=9).night(cases, plan={"case_hash": "b" * 64})

    assert one_model(runs_dir)["assumed"] == ["kappa"]


def test_each_model_has_its_own_plan_and_one_can_be_asked_for(new_run):
    run = new_run()
    for model_id, share in (("good", 9), ("poor", 4)):
        cases = {f"c{n}": [(n + rep) % 10 < share for rep in (1, 2)] for n in range(20)}
        run.night(cases, models=routed(model_id))
    both = asked(run.runs_dir)["models"]

    assert [model["model_id"] for model in both] == ["good", "poor"]
    assert [model["pass_rate"] for model in both] == [0.9, 0.4]
    assert one_model(run.runs_dir, "--model", "acme/poor") == both[1]
    assert one_model(run.runs_dir, "--model", "good") == both[0]


def test_names_from_outside_are_only_text(new_run):
    run = new_run("night\x1b[31m\u202e")
    cases = {f"c{n}": [{"passed": n % 2 > 0, "raw_output": "\x1b[2J"}] for n in range(8)}
    run.night(cases, plan={"model": "evil\x1b]0;title\x07"})
    done = call("power", "--runs", run.runs_dir)

    assert done.code == 0
    assert not set(done.out) & {"\x1b", "\x07", "\u202e"}
    assert r"night\x1b[31m\u202e" in done.out


@pytest.mark.parametrize(
    "wrong",
    [
        ("--difference", "0"),
        ("--difference", "5"),
        ("--difference", "x"),
        ("--cases", "0"),
        ("--repetitions", "0"),
        ("--run", "latest", "--suite", "smoke"),
        ("--run", "night_9"),
        ("--suite", "smok"),
        ("--model", "m2"),
    ],
)
def test_what_cannot_be_asked_is_a_usage_error(history, wrong):
    runs_dir = history([[True, False]] * 6)

    done = call("power", *wrong, "--runs", runs_dir)

    assert (done.code, done.out) == (2, "")


def test_limits_of_the_project_are_in_force(history):
    runs_dir = history(*drawn(random.Random(5), 30, 3))
    work = runs_dir.parent
    (work / "benchlake.yaml").write_text(
        "schema_version: 1\nthresholds: {alpha: 0.01, power: 0.9, pass_rate_margin: 0.1}\n"
    )
    done = forked("power", cwd=work)

    assert done.code == 0, done.err
    assert "power 90 %, alpha 1 %" in done.out
    assert "no number of cases shows 10 points; within one, 10 points need" in " ".join(
        done.out.split()
    )

    digest = hashlib.sha256((work / "benchlake.yaml").read_bytes()).hexdigest()
    lines = done.out.splitlines()[-2:]
    assert " ".join(" ".join(lines).split()).endswith(f"(benchlake.yaml, sha256 {digest[:12]})")
    limits = json.loads(forked("power", "--json", cwd=work).out)["limits"]
    assert (limits["sha256"], limits["thresholds"]["alpha"]) == (digest, 0.01)


def test_a_model_that_a_suite_never_asked_is_said_to_have_no_run(new_run):
    for number, (suite_id, model_id) in enumerate((("smoke", "m"), ("other", "n"))):
        cases = [f"c{n}" for n in range(6)]
        run = new_run(f"night_{number}", day=number)
        run.night(cases, models=(model_id,), plan={"suite_id": suite_id})
    text = shown(run.runs_dir, "--suite", "smoke", "--model", "n")

    assert text.startswith("suite smoke, no run of this model ")
    assert "packaged defaults" in text


def test_a_run_that_planned_nothing_is_passed_over_unless_it_is_named(history, new_run):
    runs_dir = history(*drawn(random.Random(5), 30, 3))
    new_run("empty", day=9).write()
    new_run("other", day=8).night(["c000"], models=("m2",))

    assert one_model(runs_dir, "--model", "m1")["run_ids"] == ["night_1"]
    named = call("power", "--run", "other", "--model", "m1", "--runs", runs_dir)
    assert (named.code, named.err) == (2, "run `other` planned no trial of model `m1`")


def test_a_suite_of_which_nothing_can_be_scored_shows_nothing(new_run):
    run = new_run()
    run.night([f"c{n}" for n in range(8)], {"passed": None}, plan={"validator_type": None})

    assert "0 scorable cases x 1 repetition are too few: no drop can be promised" in shown(
        run.runs_dir
    )

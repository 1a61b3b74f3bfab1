"""`collect plan` says what a size can show, from what the last runs of the suite showed."""

import json
import random

import numpy as np
import orjson
import pytest

from analyze.power.plan import PowerQuestion, plan_power
from analyze.power.render import power_facts
from analyze.query.session import open_session
from analyze.stats.paired_rates import rate_difference
from collect.plan.previous_runs import previous_outcomes
from schemas.config.project import Thresholds
from tests.support import kept_run, run_rows
from tests.support.analyze_cli import call
from tests.support.interpreter import run_without
from tests.support.run_builder import RunBuilder

N_CASES = 24
N_DRAWS = 2_000


@pytest.fixture
def planned(project):
    """A project of 24 scorable cases x 3, and what `collect plan` says of it."""
    for n in range(N_CASES):
        project.case(f"c{n:02d}", validator={"type": "max_words", "value": 9})
    project.profile(execution_policy={"run_repetitions": 3})

    def plan(*flags):
        words = ("plan", "--suite", "s", "--run-profile", "p", *flags)
        done = kept_run.collect(project.root, *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "--json" in flags else done.stdout

    return plan


def verdict(n, repetition, night):
    """Some cases always pass, some never, some now and then: one way a night."""
    return (n % 3 > 0) if n % 4 else (n + repetition + night) % 2 == 0


@pytest.fixture
def night(project):
    """Write a run of the suite as the collector does: config, plan and results."""

    def write(
        run_id, number=0, model_id="m", n_cases=N_CASES, passed=verdict, group=None, **fields
    ):
        run = RunBuilder(project.root / "runs", run_id, day=number)
        run.config = {"run_group": group}
        cases = {f"c{n:02d}": [] for n in range(n_cases)}
        for repetition in (1, 2, 3):
            for n, outcomes in enumerate(cases.values()):
                outcome = passed(n, repetition, number)
                outcomes.append(
                    {"passed": outcome, "raw_output": f"{repetition} {outcome}"} | fields
                )
        plan = {"suite_id": "s", "model": "real-m", "case_hash": run_rows.HASH}
        return run.night(cases, models=(model_id,), plan=plan).path

    return write


def test_the_first_plan_rests_on_assumptions(planned):
    (model,), text = planned("--json")["power"], planned()

    assert model["assumed"] == ["pass_rate", "rho", "kappa"]
    assert "m: 24 scorable cases x 3 repetitions can show a drop of 19.2 points" in text
    assert "all of this is assumed" in text
    assert "5 points need 604 cases x 1, 240 cases x 3" in " ".join(text.split())
    assert planned("--json")["smallest_detectable_drop"] == model["smallest_difference"]


def test_the_last_two_runs_tell_what_was_assumed(planned, night):
    night("first", 1)
    night("second", 2)
    (model,), text = planned("--json")["power"], " ".join(planned().split())

    assert (model["run_ids"], model["before_run_ids"]) == (["second"], ["first"])
    assert (model["assumed"], model["n_cases_seen"]) == ([], N_CASES)
    assert "known from run second (24 cases with a verdict) and first before it" in text
    assert f"pass rate {100 * model['pass_rate']:.1f} %" in text


def test_plan_and_power_say_the_same(planned, night, project):
    """One reads JSON lines, the other the lake."""
    night("first", 1)
    night("second", 2)
    (of_plan,) = planned("--json")["power"]
    with open_session(project.root / "runs") as session:
        answer = plan_power(session, PowerQuestion(suite_id="s"), Thresholds())

    assert [of_plan] == [facts for plan in answer.plans for facts in power_facts(plan)]


@pytest.fixture
def two_nights(night):
    """Two runs of a model that did not change: each case has its rate, each trial its luck."""
    dice = random.Random(11)
    rates = [dice.betavariate(0.9, 0.35) for _ in range(N_CASES)]
    for number in (1, 2):
        night(f"night_{number}", number, passed=lambda n, *_: dice.random() < rates[n])


def test_wrong_9_the_cases_that_are_asked_for_are_enough(planned, two_nights, project):
    """One number from `plan`, `power` and `compare`; so many cases prove no change 4 times in 5."""
    runs_dir = project.root / "runs"
    (of_plan,) = planned("--json")["power"]
    done = call("power", "--suite", "s", "--runs", runs_dir, "--json")
    (of_power,) = json.loads(done.out)["models"]
    done = call("compare", "night_1", "night_2", "--runs", runs_dir, "--json")
    (group,) = json.loads(done.out)["groups"]
    compared = group["difference"]
    needed = compared["cases_needed_same_night"]

    assert of_plan == of_power
    assert of_plan["cases_unchanged_same_night"]["3"] == needed
    assert of_plan["cases_unchanged"]["3"] is compared["cases_needed"] is None
    assert f"within one night it takes about {needed:,} cases x 3" in " ".join(group["reasons"])

    with open_session(runs_dir) as session:
        rows = session.rows(
            "select case_id, sum(passed::int) filter (run_id = 'night_1'), "
            "sum(passed::int) filter (run_id = 'night_2') from stg_results group by 1 order by 1"
        )
    pairs = np.array([row[1:] for row in rows])
    seen, old = proven(pairs, needed), proven(pairs, round(needed / 3.17))
    assert 0.77 <= seen <= 0.95, "the interval of 24 cases is wider than what it is carried on to"
    assert old < 0.35


def proven(pairs, n_cases):
    """Return how often so many cases show that nothing changed: such cases, either run first."""
    dice, found, threes = np.random.default_rng(5), 0, [3] * n_cases
    for _ in range(N_DRAWS):
        drawn = dice.permuted(pairs[dice.integers(len(pairs), size=n_cases)], axis=1)
        limits = rate_difference(drawn[:, 0].tolist(), threes, drawn[:, 1].tolist(), threes)
        found += limits.low90 > -0.05 and limits.high90 < 0.05
    return found / N_DRAWS


def test_twenty_nights_tell_how_much_nights_vary(planned, night):
    dice = random.Random(3)
    for number in range(4):
        night(f"night_{number}", number, passed=lambda *_: dice.random() < 0.7)
    (model,) = planned("--json")["power"]

    assert model["nights"] == "measured"
    assert model["night_run_ids"] == [f"night_{number}" for number in (3, 2, 1, 0)]
    assert "from 4 runs: the rate of a night varies by" in planned()


def test_one_run_leaves_kappa_assumed(planned, night):
    night("only", 1)
    (model,) = planned("--json")["power"]

    assert (model["assumed"], model["kappa"]) == (["kappa"], 0.9)


def test_models_with_and_without_history_stand_apart(planned, night, project):
    models = [
        {"model_id": name, "provider": "ollama_openai", "warmup": 0, "requested_model": name}
        for name in ("m", "new_1", "new_2")
    ]
    project.suite(models=models)
    night("only", 1)
    text = planned()

    assert "\nm: 24 scorable cases" in text
    assert "\nnew_1, new_2: 24 scorable cases x 3 repetitions can show a drop of 19.2" in text


def test_the_last_record_of_a_trial_counts_and_what_cannot_be_read_is_passed_over(night, project):
    folder = night("only", 1, passed=lambda *_: True)
    with (folder / "results.jsonl").open("ab") as log:
        again = run_rows.result(model_id="m", case_id="c00", repetition=1, passed=False)
        log.write(run_rows.line_of(again))
        log.write(b'[1]\n{"record_type":"result"}\n{"record_type":"event"}\nnot json\n')
        odd = orjson.loads(run_rows.line_of(again)) | {"passed": "yes", "raw_output": [1]}
        log.write(orjson.dumps(odd | {"case_id": "c01", "case_hash": 7}) + b"\n")
        log.write(b'{"record_type":"result","model_id":"m","case_id"')
    (run,) = previous_outcomes(project.root / "runs", "s", ["m"])

    assert run["m"].cases["c00"][1:3] == (3, 2)
    assert run["m"].cases["c01"][1:3] == (2, 2)
    assert run["m"].cases["c02"][1:3] == (3, 3)


def test_shards_of_one_plan_are_one_run(planned, night):
    night("older", 1)
    night("part_1", 2, n_cases=12, group="both")
    night("part_2", 2, passed=verdict, group="both")
    (model,) = planned("--json")["power"]

    assert model["run_ids"] == ["part_1", "part_2"]
    assert model["before_run_ids"] == ["older"]


def test_runs_that_say_too_little_are_passed_over(planned, night):
    night("good", 1)
    night("tiny", 2, n_cases=2)
    night("taken_over", 3, reused_from_run_id="good")
    night("outage", 4, passed=lambda *_: None, success=False)
    (model,) = planned("--json")["power"]

    assert (model["run_ids"], model["before_run_ids"]) == (["good"], [])


def test_no_more_runs_are_read_than_it_takes(night, project, monkeypatch):
    for number in range(8):
        night(f"night_{number}", number)
    runs_dir = project.root / "runs"

    assert len(previous_outcomes(runs_dir, "s", ["m"])) == 8, "nights are told by more than two"
    monkeypatch.setattr("collect.plan.previous_runs.MAX_READ_BYTES", 1)
    assert len(previous_outcomes(runs_dir, "s", ["m"])) == 2
    assert len(previous_outcomes(runs_dir, "s", ["m", "nobody"])) == 8
    assert previous_outcomes(runs_dir, "s", ["m"], at_most=1) == []
    assert previous_outcomes(runs_dir, "other", ["m"]) == []
    assert previous_outcomes(runs_dir / "nowhere", "s", ["m"]) == []


def test_identical_repetitions_and_a_perfect_night_are_said(planned, night):
    night("perfect", 1, passed=lambda *_: True, raw_output="same")
    text = " ".join(planned().split())

    assert "every trial passed, so how much they vary is not known" in text
    assert "repetitions gave the same answers byte for byte" in text


def test_every_line_on_it_fits_80_columns(planned, night):
    night("first", 1)
    night("second", 2)
    text = planned()

    power = text[text.index("\nm: ") :]
    assert max(map(len, power.splitlines())) <= 80


def test_hostile_names_are_only_text(planned, night):
    night("night\x1b[31m\u202e", 1)

    text = planned()

    assert "\x1b" not in text
    assert "\u202e" not in text


def test_planning_loads_no_engine(project, planned, night):
    night("first", 1)
    night("second", 2)
    code = (
        "from collect.cli import app\n"
        "try: app(['plan', '--suite', 's', '--run-profile', 'p'])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
    )
    heavy = ("pyarrow", "duckdb", "polars", "altair", "numpy", "scipy")
    done = run_without(code, *heavy, cwd=project.root)

    assert "known from run second" in done.stdout

"""`analyze route` over run folders: who is recommended, and who must not be."""

import json

import pytest

from schemas.output.route import RouteResult
from tests.support.analyze_cli import call

pytestmark = pytest.mark.usefixtures("warm_engines")


def add(run, model, cases, *, reps=1, plan=(), **fields):
    """Ask a model cases, each with the passes it has; further fields are of every result."""
    outcomes = {
        case_id: [{"passed": n <= passes} | fields for n in range(1, reps + 1)]
        for case_id, passes in cases.items()
    }
    asked = {"provider": "openrouter", "model": f"acme/{model}"}
    run.night(outcomes, models={model: asked}, plan=dict(plan))


def routed(run, *args):
    done = call("route", *args, "--runs", run.runs_dir, "--json")
    result = RouteResult.model_validate_json(done.out)
    assert result.schema_version == 2
    chosen = result.chosen and result.chosen.model.removeprefix("acme/")
    assert done.code == (0 if chosen else 1)
    return chosen, {one.model.removeprefix("acme/"): one for one in result.models}


def state(model, need):
    return next(reason.state for reason in model.reasons if reason.need == need)


@pytest.mark.parametrize("needs", [(), ("--min-quality", "0.66")])
def test_wrong_3_route_recommends_hundred_of_hundred_before_ninety_nine(run, needs):
    add(run, "a_all", dict.fromkeys("vwxyz", 20), reps=20)
    add(run, "b_all_but_one", dict.fromkeys("wxyz", 20) | {"v": 19}, reps=20)
    run.write()

    chosen, models = routed(run, *needs)

    assert chosen == "a_all"
    lows = [models[name].quality.ci95.low for name in ("a_all", "b_all_but_one")]
    assert lows == pytest.approx([0.6774, 0.6688], abs=5e-5)


@pytest.mark.parametrize("needs", [(), ("--min-quality", "0.55")])
def test_wrong_8_a_model_asked_the_easy_half_is_not_recommended_over_its_equal(new_run, needs):
    easy = {f"easy{n:02d}": 1 for n in range(20)}
    hard = {f"hard{n:02d}": n % 2 for n in range(20)}
    run = new_run("night_1")
    add(run, "asked_all", easy | hard, cost_usd=0.002, cost_source="computed")
    run.write()
    run = new_run("night_2", day=1)
    add(run, "asked_easy", easy, cost_usd=0.001, cost_source="computed")
    run.write()

    chosen, models = routed(run, *needs)

    assert chosen == "asked_all"
    compared = models["asked_easy"].compared
    assert (compared.standing, compared.n_shared, compared.n_first) == ("thinner", 20, 40)
    assert (compared.rate, compared.first_rate, compared.p) == (1.0, 1.0, 1.0)
    assert models["asked_easy"].quality.n_lacking == 20


def test_wrong_8_a_model_that_times_out_in_a_third_of_its_trials_is_not_fast(run):
    late, cases = {"failure_type": "timeout", "e2e_ms": None, "ttft_ms": None}, {}
    for n in range(156):
        cases[f"c{n:03d}"] = [late if n % 3 == 0 else {"e2e_ms": 1_000}]
    run.night(cases, models={"often_late": {"provider": "openrouter", "model": "acme/late"}})

    chosen, models = routed(run, "--max-latency", "2000")

    assert chosen is None
    assert state(models["late"], "latency") == "missed"
    assert (models["late"].is_p95_beyond_limit, models["late"].n_timeouts) == (True, 52)
    text = call("route", "--max-latency", "2000", "--runs", run.runs_dir).out
    assert "p95 latency beyond the time limit, of 156 trials, 33.3 % of them timed out" in text
    summary = json.loads(call("summarize", run.run_id, "--runs", run.runs_dir, "--json").out)
    (group,) = summary["models"]
    assert (group["latency_ms"]["p95"], group["latency_ms"]["mean"]) == (None, 1_000)
    assert group["latency_ms"]["beyond_limit"] == ["p95", "p99"]


def test_models_of_different_suites_are_not_compared_and_a_suite_is_asked_for(new_run):
    for number, (suite, model) in enumerate((("code", "coder"), ("chat", "talker"))):
        run = new_run(f"night_{number}", day=number)
        add(run, model, {f"c{n}": 1 for n in range(9)}, plan={"suite_id": suite}.items())
        run.write()

    assert routed(run)[0] is None
    out = call("route", "--runs", run.runs_dir).out
    assert "no recommendation: these fit, and the first shares no case with the others:" in out
    assert "--suite" in out
    assert routed(run, "--suite", "chat")[0] == "talker"


def test_only_the_newest_version_of_a_case_counts(new_run):
    """Nobody can be asked the old one any more, so it is nothing that a model lacks."""
    run = new_run("night_1")
    add(run, "old", {"c1": 0, "c2": 1})
    run.write()
    run = new_run("night_2", day=1)
    add(run, "old", {"c1": 1}, plan={"case_hash": "f" * 64}.items())
    add(run, "new", {"c1": 1}, plan={"case_hash": "f" * 64}.items())
    add(run, "new", {"c2": 1})
    run.write()

    _, models = routed(run)

    assert {name: (one.quality.n_cases, one.quality.n_lacking) for name, one in models.items()} == {
        "old": (2, 0), "new": (2, 0),
    }  # fmt: skip
    assert models["old"].quality.rate == 1.0


def test_reused_and_identical_answers_are_no_further_draws(new_run):
    run = new_run("night_1")
    add(run, "m", {"c1": 3, "c2": 3}, reps=3)
    add(run, "same", {"c1": 3, "c2": 3}, reps=3, raw_output="again")
    run.write()
    run = new_run("night_2", day=1)
    add(run, "m", {"c1": 3, "c2": 3}, reps=3, reused_from_run_id="night_1")
    add(run, "elsewhere", {"c1": 3}, reps=3, reused_from_run_id="not_here")
    run.write()

    _, models = routed(run)

    assert {name: one.quality.n_trials for name, one in models.items()} == {
        "m": 6, "same": 2, "elsewhere": 3,
    }  # fmt: skip

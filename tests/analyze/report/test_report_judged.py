"""The part of a report about judges, against counts and intervals by hand."""

import json

import numpy as np
import pytest

from analyze.report.sections.judged import mean_preference, mean_score
from tests.support.analyze_cli import call
from tests.support.run_rows import sha

PROFILE = {
    "evaluation_profile_id": "strict", "evaluation_profile_path": "e.yaml", "sha256": sha("e"),
    "security_policy": {}, "limits": {},
}  # fmt: skip


@pytest.fixture
def run(new_run):
    made = new_run()
    made.config |= {"evaluation": PROFILE, "judge_hash": sha("judges")}
    return made


def judged(run):
    done = call("report", run.runs_dir, "--run", "run-1", "--format", "json")
    assert done.code == 0, done.err
    return json.loads(done.out)["judged"]


def test_scores_are_means_of_cases_and_every_failure_has_its_kind(run):
    """Cases: 4 and 6 (mean of 5 and 7); repetitions are no further draws."""
    for case_id, said in (("a", (4,)), ("b", (5, 7))):
        for repetition, score in enumerate(said, 1):
            trial = run.plan(case_id, repetition)
            run.result(trial, passed=None, objective_pass=None)
            run.judged(trial, "invalid", score, threshold=5, soft_score=score / 10)
    trial = run.plan("c")
    run.result(trial, passed=None, objective_pass=None)
    run.judged(trial, 9, threshold=5)  # superseded by what follows
    run.judged(trial, "refusal", "judge_down", threshold=5)
    run.judged(trial, 10, threshold=5, evaluation_profile_id="kind")
    run.write()

    found = judged(run)

    strict, kind = found["scores"]
    assert (strict["evaluation_profile_id"], strict["is_own"]) == ("strict", True)
    assert (strict["n_judged"], strict["n_failed"], strict["n_units"]) == (4, 1, 2)
    assert strict["score"] == 5
    # s = 2 / sqrt 2, t(0.975, 1) = 12.706: 5 +- 12.7, cut at the ends of the scale
    assert (strict["score_low"], strict["score_high"]) == (0, 10)
    assert (strict["n_decided"], strict["n_passed"]) == (3, 2)
    assert strict["soft_score"] == pytest.approx((0.4 + 0.5 + 0.7) / 3)
    assert (kind["is_own"], kind["score"], kind["score_low"]) == (False, 10, None)
    of_kind, of_strict = found["judges"]
    assert (of_kind["n_asked"], of_kind["n_answered"]) == (1, 1)
    counts = {name: of_strict[f"n_{name}"] for name in ("asked", "answered", "invalid", "refusal",
              "judge_down", "truncated", "no_response")}  # fmt: skip
    assert counts == {"asked": 9, "answered": 4, "invalid": 3, "refusal": 1, "judge_down": 1,
                      "truncated": 0, "no_response": 0}  # fmt: skip
    assert (of_strict["cost_usd"], of_strict["n_cost_known"]) == (pytest.approx(0.009), 9)


def test_cases_of_a_cluster_are_one_draw(run):
    for case_id, score, cluster in (("a", 2, "x"), ("b", 4, "x"), ("c", 8, None)):
        trial = run.plan(case_id, cluster=cluster)
        run.result(trial, passed=None, objective_pass=None)
        run.judged(trial, score, threshold=5)
    run.write()

    (one,) = judged(run)["scores"]

    assert (one["n_units"], one["score"]) == (2, 5.5)


def test_preferences_are_counted_by_rival_and_their_share_is_a_mean_of_cases(run):
    """Cases: a won twice, b tied and lost, c cannot be said: (1 + 0.25) / 2."""
    for case_id, repetition, fields in (
        ("a", 1, {"outcome": "won", "answer_chars": 9, "other_answer_chars": 3}),
        ("a", 2, {"outcome": "won", "answer_chars": 3, "other_answer_chars": 3}),
        ("b", 1, {"outcome": "tied", "n_comparisons": 3, "n_flips_to_first": 2,
                  "n_flips_to_second": 1}),
        ("b", 2, {"outcome": "lost", "answer_chars": 9, "other_answer_chars": 3}),
        ("c", 1, {"outcome": None}),
        ("c", 2, {"outcome": None, "status": "failed", "n_comparisons": 0}),
    ):  # fmt: skip
        trial = run.plan(case_id, repetition)
        run.result(trial, passed=None, objective_pass=None)
        if (case_id, repetition) == ("a", 1):
            run.compared(trial, outcome="lost")  # superseded by what follows
        said = ("this", "no_response") if fields.get("status") else ("this", "other")
        run.compared(trial, *said, **fields)
    trial = run.plan("d")
    run.result(trial, passed=None, objective_pass=None)
    run.compared(trial, outcome="tied", is_identical=True, n_comparisons=0, other_model_id="z")
    run.write()

    found = judged(run)

    assert found["scores"] == []
    one, of_z = found["preferences"]
    counts = {name: one[f"n_{name}"] for name in ("compared", "won", "tied", "lost", "identical",
              "cannot_say", "failed", "comparisons", "flips_to_first", "flips_to_second",
              "longer_won", "shorter_won")}  # fmt: skip
    assert counts == {
        "compared": 6, "won": 2, "tied": 1, "lost": 1, "identical": 0, "cannot_say": 1,
        "failed": 1, "comparisons": 7, "flips_to_first": 2, "flips_to_second": 1,
        "longer_won": 1, "shorter_won": 1,
    }  # fmt: skip
    assert (one["n_units"], one["share"]) == (2, 0.625)
    assert one["share_ci95"]["low"] < 0.625 < one["share_ci95"]["high"]
    assert (of_z["other_model_id"], of_z["n_identical"], of_z["share"]) == ("z", 1, 0.5)
    assert of_z["share_ci95"] is None
    (judge,) = found["judges"]
    assert (judge["question"], judge["n_asked"], judge["n_no_response"]) == ("pair", 12, 1)


def test_cases_of_a_cluster_are_one_draw_of_preferences_too(run):
    for case_id, outcome, cluster in (("a", "won", "x"), ("b", "won", "x"), ("c", "lost", None)):
        trial = run.plan(case_id, cluster=cluster)
        run.result(trial, passed=None, objective_pass=None)
        run.compared(trial, outcome=outcome)
    run.write()

    (one,) = judged(run)["preferences"]

    assert (one["n_units"], one["share"]) == (2, 0.5)


def test_a_run_that_nobody_judged_has_no_such_part(run):
    run.result(run.plan("a"), passed=True)
    run.write()

    assert judged(run) is None


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        ((), (None, None, None)),
        ((7,), (7, None, None)),
        ((6, 6, 6), (6, 6, 6)),
        # s = 1, t(0.975, 2) = 4.30265
        ((5, 6, 7), (6, 6 - 4.30265 / 3**0.5, 6 + 4.30265 / 3**0.5)),
    ],
)
def test_a_mean_has_the_interval_of_t(units, expected):
    for found, wanted in zip(mean_score(units), expected, strict=True):
        assert found is wanted is None or found == pytest.approx(wanted, rel=1e-5)


def test_of_sixteen_cases_that_all_won_the_share_has_the_interval_of_a_rate():
    """The limit below of 16 of 16 by Wilson: 0.8064."""
    share, interval = mean_preference([1.0] * 16, [1] * 16)

    assert share == 1
    assert (interval.low, interval.high) == (pytest.approx(0.8064, abs=1e-4), 1)


@pytest.mark.peers
@pytest.mark.parametrize("p_tied", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("n_cases", [10, 40])
def test_the_interval_of_a_preference_holds_the_true_one(n_cases, p_tied):
    """Cases differ (Beta), trials of a case share its chance; ties come by a coin of their own."""
    draws = np.random.default_rng(20)
    n_draws, n_trials, held = 1_000, 3, 0
    for _ in range(n_draws):
        chance = np.repeat(draws.beta(1.4, 0.6, n_cases)[:, None], n_trials, axis=1)
        points = (draws.random(chance.shape) < chance).astype(float)
        points[draws.random(chance.shape) < p_tied] = 0.5
        _, found = mean_preference(points.sum(axis=1).tolist(), [n_trials] * n_cases)
        held += found.low <= p_tied * 0.5 + (1 - p_tied) * 0.7 <= found.high

    assert held / n_draws >= 0.92


def test_how_far_judges_agree_and_vary_is_that_of_the_command_about_judges(run):
    draws = np.random.default_rng(2)
    for number in range(24):
        trial = run.plan(f"c{number}")
        run.result(trial, passed=None, objective_pass=None)
        for judge_run_id in ("main", "second"):
            for iteration in (1, 2):
                score = int(np.clip(round(4 + number % 3 + draws.normal()), 0, 10))
                run.asked(trial, score, judge_run_id=judge_run_id, iteration=iteration)
        run.judged(trial, 5, 6, threshold=5)
        run.asked(trial, 4, iteration=1, question_hash=sha("question"))
    run.write()

    found = judged(run)

    whole = json.loads(call("judges", "run-1", "--runs", run.runs_dir, "--json").out)
    for name in ("agreement", "drift"):
        assert found[name] == whole[name] != []
    assert found["variance"] == [one for one in whole["variance"] if one["judge_sd"] is not None]
    assert {one["judge_run_id"] for one in found["variance"]} == {"main", "second"}


def test_judges_that_were_asked_once_have_scores_and_nothing_on_trust(run):
    trial = run.plan("a")
    run.result(trial, passed=None, objective_pass=None)
    run.judged(trial, 4, threshold=5)
    run.write()

    found = judged(run)

    assert (found["agreement"], found["variance"], found["drift"]) == ([], [], [])
    done = call(
        "chart", "judges", "run-1", "-o", run.runs_dir.parent / "j.svg", "--runs", run.runs_dir
    )
    assert done.code == 1
    assert "no judge was asked twice about a trial" in done.err

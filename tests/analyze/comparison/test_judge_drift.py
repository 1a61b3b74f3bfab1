"""Whether the judge or the model moved scores: by hand, in simulation, and from the lake."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from analyze.stats.likelier_cause import likelier_cause
from tests.support.analyze_cli import call
from tests.support.run_builder import DAY_MS
from tests.support.run_rows import sha


def moved(draws, *, judge=0.0, model=0.0, n=100, answer_sd=0.0):
    """Return drift and change of each case: scores in whole points, noise of the judge sd 1."""
    level = draws.normal(5.5, 1.5, n)
    base = level + draws.normal(0, answer_sd, n)
    candidate = level + model + draws.normal(0, answer_sd, n)
    noise_sd = math.sqrt(1 - 1 / 12)  # and a twelfth by rounding
    first, last, other = (
        np.clip(np.rint(one + draws.normal(0, noise_sd, n)), 0, 10)
        for one in (base, base + judge, candidate + judge)
    )
    return last - first, other - last


def causes(draws, n_histories, **change):
    return Counter(
        likelier_cause(*map(list, moved(draws, **change)), rounding=(1 / 6, 1 / 6))
        for _ in range(n_histories)
    )


@pytest.mark.peers
@pytest.mark.parametrize(("own", "other"), [("judge", "model"), ("model", "judge")])
def test_who_moved_by_half_a_point_is_named_and_the_other_is_not(own, other):
    found = causes(np.random.default_rng(3), 2000, **{own: 0.5})

    assert found[own] >= 0.9 * 2000
    assert found[other] + found["both"] <= 0.01 * 2000


@pytest.mark.peers
def test_where_nothing_moved_seldom_anything_is_named_and_both_where_both_did():
    draws = np.random.default_rng(4)

    assert causes(draws, 1000)[None] >= 900
    assert causes(draws, 400, judge=0.9, model=0.9)["both"] >= 380
    assert causes(draws, 400, judge=0.9, model=-0.9)["both"] >= 320


def by_regression(drift, change):
    """Name the cause by least squares and SciPy's t, and by the likelihoods of normal pairs."""
    n = len(drift)

    def intercept_p(y, x):
        design = np.column_stack([np.ones(n), x])
        beta, (rest,), *_ = np.linalg.lstsq(design, y, rcond=None)
        se = math.sqrt(rest / (n - 2) * np.linalg.inv(design.T @ design)[0, 0])
        return 2 * stats.t.sf(abs(beta[0] / se), n - 2)

    def likelihood(y, x):
        """Of y with any mean, and x with mean 0: of x, then of y given x."""
        design = np.column_stack([np.ones(n), x])
        _, (rest,), *_ = np.linalg.lstsq(design, y, rcond=None)
        return -n / 2 * (math.log(np.mean(x * x)) + math.log(rest / n))

    alone = [stats.ttest_1samp(one, 0).pvalue for one in (drift, change)]
    shown = intercept_p(drift, change), intercept_p(change, drift)
    ratio = likelihood(drift, change) - likelihood(change, drift)
    if max(alone) <= 0.001:
        return "both"
    if min(shown) > 0.05:
        return None
    if ratio >= math.log(5) and shown[0] <= 0.05:
        return "judge"
    return "model" if -ratio >= math.log(5) and shown[1] <= 0.05 else "not_known"


def test_the_cause_is_that_of_least_squares_and_normal_likelihoods():
    draws = np.random.default_rng(5)
    seen = Counter()
    for judge in (0, 0.3, 1.2):
        for model in (-1.2, 0, 0.4):
            for _ in range(12):
                drift, change = moved(draws, judge=judge, model=model, n=30, answer_sd=0.5)
                expected = by_regression(drift, change)
                assert likelier_cause(list(drift), list(change)) == expected
                seen[expected] += 1
    assert set(seen) == {"judge", "model", "both", "not_known", None}


@pytest.mark.parametrize(
    ("drift", "change", "cause"),
    [
        ([0.0] * 20, [0.0] * 20, None),
        ([0.0] * 20, [-1.0, -2.0] * 10, "model"),
        ([-1.0, -2.0] * 10, [0.0] * 20, "judge"),
        ([-1.0] * 20, [1.0] * 20, "both"),
        ([-1.0] * 4, [0.0] * 4, None),
    ],
)
def test_a_judge_that_never_wavers_is_no_division_by_nothing(drift, change, cause):
    assert likelier_cause(drift, change) == cause


def test_differences_of_other_cases_are_refused():
    with pytest.raises(ValueError, match="drift is of 5 cases, change of 6"):
        likelier_cause([0.0] * 5, [0.0] * 6)


N = 24


@pytest.fixture
def nights(new_run):
    """Write a base that is judged twice and a candidate; scores of a case waver by its number."""

    def made(*, judge=0, model=0, asked_again=N, after_ms=3_600_000):
        for day, run_id, shift in ((-5, "before", 0), (0, "after", judge + model)):
            run = new_run(run_id, day=day)
            for number in range(N):
                trial = run.plan(f"c{number}")
                run.result(trial, passed=None, objective_pass=None)
                score = 5 + number % 3 + shift
                judged = {"evaluation_profile_id": "kind", "judge_hash": sha("kind")}
                judged |= {"evaluation_fingerprint": sha(f"f{number}")}
                run.judged(trial, score, **judged)
                if run_id == "before" and number < asked_again:
                    again_ms = run.started_at_ms + 6 * DAY_MS + after_ms
                    again = score + judge + (number % 4 == 0) - (number % 4 == 1)
                    if again == score:
                        run.asked(
                            trial, again, evaluation_profile_id="kind", evaluated_at_ms=again_ms
                        )
                    else:
                        run.judged(trial, again, **judged, evaluated_at_ms=again_ms)
            run.write()
        return run

    return made


def compared(run, *more):
    done = call("compare", "before", "after", "--runs", run.runs_dir, "--json", *more)
    (group,) = json.loads(done.out)["groups"]
    (found,) = group["scores"]
    return found, " ".join(call("compare", "before", "after", "--runs", run.runs_dir).out.split())


def test_a_judge_that_drifted_is_named_and_the_model_not(nights):
    run = nights(judge=-2)

    found, text = compared(run)

    drift = found["drift"]
    assert (drift["n_trials"], drift["n_cases"], drift["verdict"]) == (N, N, "drifted")
    assert (drift["difference"], drift["candidate_difference"]) == (-2, 0)
    assert drift["low"] < -2 < drift["high"] < 0
    assert drift["cause"] == "judge"
    assert found["verdict"] != "regressed", "the base is as the judge sees it now"
    assert found["next_command"] is None
    assert (
        "kind, asked again about 24 answers of the base, gives -2.00 (-2.31 to -1.69), and the "
        "candidate 0.00 (-0.31 to +0.31) beside that: likelier the judge has changed than the model"
    ) in text


def test_a_model_that_fell_is_named_where_the_judge_stayed(nights):
    found, text = compared(nights(model=-2))

    assert (found["drift"]["verdict"], found["drift"]["cause"]) == ("inconclusive", "model")
    assert found["drift"]["difference"] == 0
    assert found["verdict"] == "regressed"
    assert "likelier the model has changed than the judge" in text


def test_without_a_second_look_the_cause_is_not_known_and_a_command_says_how_to_know(nights):
    run = nights(model=-2, asked_again=0)

    found, text = compared(run)

    assert (found["verdict"], found["drift"]) == ("regressed", None)
    command = "collect evaluate before --evaluation-profile kind --model m1 --force --runs"
    assert found["next_command"].startswith(command)
    assert "whether kind or the model has changed is not known" in text


def test_few_answers_judged_again_say_nothing_of_a_cause(nights):
    found, text = compared(nights(judge=-2, asked_again=8))

    assert (found["drift"]["n_trials"], found["drift"]["verdict"]) == (8, "too_few")
    assert found["drift"]["cause"] is None
    assert found["drift"]["difference"] == -2
    assert ", too few to say more" in text


@pytest.mark.parametrize(
    ("days", "side"), [(-1.5, "before"), (1.5, "after")], ids=["earlier", "later"]
)
def test_a_second_look_at_another_time_than_the_candidate_is_no_evidence(nights, days, side):
    found, _ = compared(nights(judge=-2, after_ms=int(days * DAY_MS)))

    assert found["drift"]["verdict"] == "drifted"
    assert found["drift"]["cause"] == "not_known"
    assert found["next_command"].startswith(f"collect evaluate {side} --evaluation-profile kind")


def test_two_models_of_one_run_have_no_drift_between_them(new_run):
    run = new_run("both")
    for number in range(N):
        for model_id, score in (("low", 4), ("high", 8)):
            trial = run.plan(f"c{number}", model_id=model_id)
            run.result(trial, passed=None, objective_pass=None)
            for _ in range(2):
                run.judged(trial, score, evaluation_profile_id="kind", judge_hash=sha("kind"))
    run.write()

    done = call("compare", "both", "--model", "low", "--against", "high", "--runs", run.runs_dir,
                "--json")  # fmt: skip

    ((found,),) = (group["scores"] for group in json.loads(done.out)["groups"])
    assert (found["verdict"], found["drift"], found["next_command"]) == ("improved", None, None)

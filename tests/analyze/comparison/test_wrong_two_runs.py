"""Verdicts on two runs that were measured to be wrong, each asked through its command."""

import json

import numpy as np
import pytest

from tests.support.analyze_cli import call
from tests.support.two_nights import night

pytestmark = pytest.mark.usefixtures("warm_engines")


def test_wrong_4_ten_cases_prove_nothing_however_often_they_are_asked(new_run):
    """Half of the trials of each case pass, so often that the interval is narrow."""
    night(new_run, 0, [60, 59, 61, 60, 58, 62, 60, 61, 59, 60], reps=120)
    run = night(new_run, 1, [61, 59, 61, 60, 59, 62, 60, 60, 59, 60], reps=120)

    done = call("gate", "--prove", "--max-drop", "0.05", "--json", "--runs", run.runs_dir)

    (line,) = json.loads(done.out)["lines"]
    assert (done.code, line["outcome"]) == (3, "cannot_judge")
    assert "10 cases are too few for a proof" in line["why"]
    assert "59 are needed" in line["why"]


def test_wrong_5_more_repetitions_than_before_are_no_drop(new_run):
    night(new_run, 0, [1] * 30, reps=1)
    run = night(new_run, 1, [5] * 22 + [4] * 8, reps=5)

    done = call("gate", "--json", "--runs", run.runs_dir)

    assert done.code == 0
    (group,) = json.loads(done.out)["comparison"]["groups"]
    assert group["difference"]["test"] == "intersection_union"
    assert group["difference"]["low"] < 0 < group["difference"]["high"]
    assert group["difference"]["p"] == pytest.approx((5 / 6) ** 8)


def test_wrong_9_the_headline_leaves_none_of_ten_equal_models_out(new_run):
    models = [f"m{number}" for number in range(10)]
    for seed in (4, 10):
        dice = np.random.default_rng(seed)
        rates = dice.beta(1.6, 0.4, 30)
        passed = dict(zip(models, dice.random((10, 30)) < rates, strict=True))
        run = night(
            new_run, seed, [1] * 30, reps=1, models=models,
            result=lambda case, _rep, model, passed=passed: {"passed": bool(passed[model][case])},
        )  # fmt: skip

        done = call("report", run.path, "--baseline", "none", "--format", "json")

        answers = json.loads(done.out)["answer"]
        assert {one["model_id"] for one in answers if one["is_leading"]} == set(models)


def test_a_model_asked_too_little_is_never_named_best(new_run):
    """One passes all of its four cases, one lost a tenth of its verdicts."""

    def result(case, _rep, model):
        if model == "short":
            return {"passed": True} if case < 4 else None
        if model == "torn" and case < 3:
            return None
        return {"passed": case < {"good": 26, "weak": 3, "torn": 30}[model]}

    def plan(case, _rep, model):
        return {"validator_type": None} if model == "short" and case >= 4 else {}

    run = night(
        new_run, 0, [1] * 30, reps=1, models=("good", "short", "torn", "weak"), plan=plan,
        result=result,
    )  # fmt: skip

    page = call("report", run.path, "--baseline", "none", "--format", "json")
    text = call("report", run.path, "--baseline", "none", "--format", "md")

    answers = json.loads(page.out)["answer"]
    assert [(one["model_id"], one["is_ranked"], one["is_leading"]) for one in answers] == [
        ("good", True, True), ("weak", True, False), ("short", False, False),
        ("torn", False, False),
    ]  # fmt: skip
    assert "good is best of 2 models with 86.7 % passed" in text.out
    assert "2 other models have too few cases or verdicts to be ranked" in text.out

"""The part of a report about judges, against counts and intervals by hand."""

import json

import pytest

from analyze.report.sections.judged import mean_score
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

"""`analyze judges` over runs: what is read of them, and what people and programs are told."""

import json

import pytest

from analyze.api import open_history
from schemas.run.judgement import JudgeRunScore
from tests.support.analyze_cli import call
from tests.support.run_rows import opinion


@pytest.fixture
def judged(new_run):
    """Eight cases; each is judged three times by one judge, and once by a second one."""
    run = new_run()
    for number in range(8):
        trial = run.plan(f"c{number}", model_id="small")
        run.result(trial, passed=None, objective_pass=None, raw_output="x" * (number + 1))
        low, high = 2 + number, min(3 + number, 10)
        scores = (low, high, low)
        second = opinion(min(high + 1, 10))
        runs = tuple(
            JudgeRunScore(
                judge_run_id=name, judge_id=name, n_successful=1, n_failed=0, n_used=1, opinion=of
            )
            for name, of in (("main", opinion(low)), ("second", second))
        )
        run.judged(trial, 1, threshold=5)  # superseded by what follows
        run.judged(trial, *scores, threshold=5, judge_runs=runs)
        run.asked(trial, second, judge_run_id="second", judge_id="second", iteration=1)
    return run


def report(run, *more):
    run.write()
    done = call("judges", run.run_id, "--runs", run.runs_dir, "--json", *more)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_the_newest_answers_about_the_records_that_count_are_read(judged):
    found = report(judged)

    within, passes, between, _ = found["agreement"]
    assert (within["scope"], within["of"], within["n_units"]) == ("within", "score", 8)
    assert passes["of"] == "pass"
    assert (between["scope"], between["judge_run_ids"]) == ("between", ["main", "second"])
    # second minus main by case: 2 2 2 2 2 2 2 (9 -> 10), 1 (9 -> 10)
    assert between["bias"]["mean"] == pytest.approx((2 * 7 + 1) / 8)
    (main, second) = found["variance"]
    assert (main["judge_run_id"], main["n_scores"]) == ("main", 24)
    assert (second["judge_run_id"], second["judge_sd"]) == ("second", None)
    assert [one["case_id"] for one in found["spread"]] == [f"c{n}" for n in range(8)]
    with open_history(judged.runs_dir) as history:
        assert history.judges().model_dump(mode="json") == found


def test_one_profile_can_be_asked_for(judged):
    trial = judged.plan("z", model_id="small")
    judged.result(trial, passed=None, objective_pass=None)
    judged.judged(trial, 4, 6, evaluation_profile_id="kind")

    found = report(judged, "--evaluation-profile", "kind")

    assert {one["evaluation_profile_id"] for one in found["agreement"]} == {"kind"}
    asked = ("judges", "run-1", "--runs", judged.runs_dir, "--evaluation-profile", "kidn")
    refused = call(*asked)
    assert refused.code == 2
    assert "no judge of it has said anything about run-1; there is kind, strict" in refused.err
    assert found["agreement"][0]["n_units"] == 1


def test_an_answer_that_was_taken_over_counts_once(new_run):
    first, second = new_run("run-1"), new_run("run-2", day=1)
    for run, reused in ((first, None), (second, "run-1")):
        trial = run.plan("a")
        run.result(trial, passed=None, objective_pass=None, reused_from_run_id=reused)
        run.judged(trial, 4, 6)
        run.write()

    def n_units(*names):
        done = call("judges", *names, "--runs", first.runs_dir, "--json")
        return json.loads(done.out)["agreement"][0]["n_units"]

    assert n_units("run-1", "run-2") == 1
    assert n_units("run-2") == 1, "alone it is all there is"


def test_people_are_told_in_sentences_and_tables(judged):
    judged.write()
    done = call("judges", "run-1", "--runs", judged.runs_dir)

    text = " ".join(done.out.split())
    assert "main (judge) with itself: agrees, alpha 0.9" in text
    assert "main and second: " in text
    assert "second is 1.88 points higher than main" in text
    assert "of several minds" in done.out
    for form in ("md", "html"):
        assert (
            "of several minds"
            in call("judges", "run-1", "--runs", judged.runs_dir, "--format", form).out
        )


def test_of_pairs_the_place_is_told(new_run):
    run = new_run()
    for number in range(6):
        trial = run.plan(f"c{number}")
        run.result(trial, passed=None, objective_pass=None)
        run.compared(trial, "this", "other", outcome="tied", n_flips_to_first=1)
    run.write()

    done = call("judges", "run-1", "--runs", run.runs_dir)

    text = " ".join(done.out.split())
    assert "goes by the place in 100.0 % (95 % 61.0 to 100.0) of pairs" in text
    assert "6 of 6 comparisons; it leans to the first place" in text


def test_a_judge_that_was_asked_once_is_said_to_be(new_run):
    run = new_run()
    for number in range(3):
        trial = run.plan(f"c{number}")
        run.result(trial, passed=None, objective_pass=None)
        run.judged(trial, 5 + number)
    run.write()

    done = call("judges", "run-1", "--runs", run.runs_dir)

    assert "each judge run was asked once about a trial" in done.out


def test_a_run_without_judges_says_what_to_do_and_an_unknown_one_is_refused(new_run):
    run = new_run()
    run.result(run.plan("a"), passed=True)
    run.write()

    done = call("judges", "--runs", run.runs_dir)
    assert (done.code, "collect evaluate RUN --evaluation-profile ID" in done.out) == (0, True)
    assert call("judges", "nope", "--runs", run.runs_dir).code == 2

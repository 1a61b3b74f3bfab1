"""Beside a shift of what judges have a say in stands whether it is theirs; in a gate as well."""

import json

import pytest

from tests.support.analyze_cli import call
from tests.support.run_builder import DAY_MS
from tests.support.run_rows import sha

N_CASES = 24
JUDGED = {"evaluation_profile_id": "kind", "judge_hash": sha("kind"), "threshold": 5}


@pytest.fixture
def history(new_run):
    """Write nine nights; from the sixth on scores are lower, by the judge or the model."""

    def made(*, judge=0, model=0, again_in=()):
        for night in range(9):
            run = new_run(f"n{night}", day=night)
            late = night >= 5
            for number in range(N_CASES):
                trial = run.plan(f"c{number}", cluster="pair" if number > 21 else None)
                run.result(trial, passed=None, objective_pass=None)
                noise = (number // 3 + night) % 3 - 1
                score = 4 + number % 4 + (judge + model if late else 0)
                judged = JUDGED | {"evaluation_fingerprint": sha(f"f{number}")}
                run.judged(trial, score + (noise if number % 3 == 0 else 0), **judged)
                if night in again_in:
                    again_ms = run.started_at_ms + (9 - night) * DAY_MS + 3_600_000
                    second = score + (0 if late else judge) + (noise if number % 3 == 1 else 0)
                    run.judged(trial, second, **judged, evaluated_at_ms=again_ms)
            run.write()
        return run.runs_dir

    return made


def shift_of(runs):
    done = call("regressions", "--runs", runs, "--evaluation-profile", "kind", "--json")
    (found,) = [
        one for one in json.loads(done.out)["shifts"] if one["series"]["metric"] == "passed_rate"
    ]
    text = " ".join(call("regressions", "--runs", runs, "--evaluation-profile", "kind").out.split())
    return found, text


def test_a_shift_of_the_judge_is_told_as_the_judges(history):
    found, text = shift_of(history(judge=-3, again_in=(4,)))

    (level,) = found["judged"]
    assert level["evaluation_profile_id"] == "kind"
    drift = level["drift"]
    assert (drift["n_cases"], drift["n_clusters"]) == (N_CASES, N_CASES - 1)
    assert drift["difference"] == pytest.approx(-3, abs=0.3)
    assert drift["cause"] == "judge"
    assert level["next_command"] is None
    assert "likelier the judge has changed than the model" in text


def test_a_shift_of_the_model_is_told_as_the_models(history):
    found, _ = shift_of(history(model=-3, again_in=(1, 4)))

    (level,) = found["judged"]
    assert level["drift"]["difference"] == pytest.approx(0, abs=0.3)
    assert level["drift"]["cause"] == "model"


def test_a_shift_without_a_second_look_names_the_command_that_takes_one(history):
    found, text = shift_of(history(judge=-3))

    (level,) = found["judged"]
    assert level["drift"] is None
    command = f"collect evaluate {found['last_run_before']} --evaluation-profile kind --model m1"
    assert level["next_command"].startswith(command)
    assert "whether kind or the model has changed is not known" in text


def gate(runs, *more):
    done = call("gate", "--runs", runs, "--evaluation-profile", "kind", "--json", *more)
    (line,) = json.loads(done.out)["lines"]
    return line


def test_a_gate_names_the_command_that_tells_judge_from_model(history):
    runs = history(judge=-3)

    line = gate(runs, "n7", "--baseline", "n1")

    assert line["outcome"] == "failed"
    assert "to have answers judged again: collect evaluate n1 --evaluation-profile" in line["why"]


def test_a_gate_does_not_fail_a_model_for_a_judge_that_moved(history):
    runs = history(judge=-3, again_in=(4,))

    line = gate(runs, "n8", "--baseline", "n4")

    assert line["outcome"] != "failed" or line["by_open_shift"]
    assert "likelier the judge has changed than the model" in line["why"]

"""Drift of judges: the same answers judged twice, by hand, in simulation, and from the lake."""

import json

import numpy as np
import pytest

from analyze.judges.drift import Rejudged, drifts
from tests.analyze.judges.test_agreement import MAIN
from tests.support.analyze_cli import call
from tests.support.run_rows import sha


def twice(differences, *, n_of_a_case=1):
    return [
        Rejudged(MAIN, f"s {n // n_of_a_case}", 5.0, 5.0 + one, 10, 20, "j-1", "j-1")
        for n, one in enumerate(differences)
    ]


def verdict(differences, **fields):
    (found,) = drifts(twice(differences, **fields))
    return found.verdict


def test_verdicts_by_what_the_differences_show():
    assert verdict([-1, 0] * 15) == "drifted"
    assert verdict([0.2, -0.2] * 15) == "unchanged"
    assert verdict([2, -1.8] * 15) == "inconclusive"
    assert verdict([-1] * 19) == "too_few"
    assert verdict([-1] * 40, n_of_a_case=10) == "too_few", "four cases are four draws"
    assert verdict([-0.1] * 40) == "unchanged", "shown, and within the margin"


@pytest.mark.peers
def test_a_drift_is_found_and_none_is_seldom_seen():
    """100 stored answers, noise of the judge sd 1 either time, rounded to whole points."""
    draws = np.random.default_rng(8)

    def share(drift, wanted):
        found = []
        for _ in range(400):
            level = draws.uniform(3, 8, 100)
            first = np.rint(level + draws.normal(0, 1, 100))
            last = np.rint(level + drift + draws.normal(0, 1, 100))
            found.append(verdict((last - first).tolist()) == wanted)
        return np.mean(found)

    assert share(-0.5, "drifted") >= 0.9
    assert share(0, "drifted") <= 0.06


@pytest.fixture
def run(new_run):
    """24 answers, each asked about twice; the second time the judge gives a point less."""
    made = new_run()
    for number in range(24):
        trial = made.plan(f"c{number}", model_id="m")
        made.result(trial, passed=None, objective_pass=None)
        score = 4 + number % 5
        made.asked(trial, score, question_hash=sha(f"q{number}"))
        made.asked(trial, score - 1, question_hash=sha(f"q{number}"), served_model="judge-2")
        made.asked(trial, 1, question_hash=sha(f"another {number}"))
    made.write()
    return made


def test_only_the_same_question_asked_again_counts(run):
    done = call("judges", "run-1", "--runs", run.runs_dir, "--json")

    (found,) = json.loads(done.out)["drift"]
    assert (found["n_trials"], found["n_cases"]) == (24, 24)
    assert found["difference"]["mean"] == -1
    assert (found["first_models"], found["last_models"]) == (["judge-1"], ["judge-2"])
    assert found["verdict"] == "drifted"
    text = " ".join(call("judges", "run-1", "--runs", run.runs_dir).out.split())
    assert "asked again about 24 answers has drifted by -1.00 points" in text
    assert "served by judge-1, then judge-2" in text

"""Two runs judged by an endpoint whose judge changes between them; then the first judged again."""

import json

import pytest

from tests.support.analyze_cli import call
from tests.support.judge_endpoint import judgement
from tests.support.judged_run import SUITE, Judged
from tests.support.kept_run import collect

pytestmark = pytest.mark.peers

N = 22


@pytest.fixture
def two_runs(project, endpoint):
    """Judge `r`, then by a judge that is two points sterner the same answers in `r2`."""
    judged = Judged(project, endpoint)
    seen = []

    def says(body, n):
        seen.append(1)
        return judgement(8 - len(seen) % 2 - 2 * (len(seen) > N))

    judged.model.says = says
    judged.run(n_cases=N)
    judged.evaluate(mirrored=True)
    for words in (("run", *SUITE, "--run-id", "r2"), ("evaluate", "r2", *PROFILE)):
        done = collect(project.root, *words)
        assert done.returncode == 0, done.stderr
    return judged


PROFILE = ("--evaluation-profile", "strict")


def compared(judged):
    runs = judged.project.root / "runs"
    done = call("compare", "r", "r2", "--runs", runs, "--json")
    (group,) = json.loads(done.out)["groups"]
    (found,) = group["scores"]
    return found


def test_the_command_that_is_told_says_whose_change_it_was(two_runs):
    found = compared(two_runs)
    assert (found["verdict"], found["drift"]) == ("regressed", None)

    words = found["next_command"].split()[1:]
    done = collect(two_runs.project.root, *words)
    assert done.returncode == 0, done.stderr

    found = compared(two_runs)
    drift = found["drift"]
    assert (drift["n_trials"], drift["verdict"], drift["cause"]) == (N, "drifted", "judge")
    assert drift["difference"] == pytest.approx(-2, abs=0.5)
    assert found["verdict"] != "regressed"
    assert found["next_command"] is None

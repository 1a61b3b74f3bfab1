"""kill -9 at any moment: nothing is lost, doubled or torn, and nothing is left behind."""

import os
import random
import sys
import time

import pytest

from tests.support.kept_run import (
    assert_fits_together,
    begin,
    collect,
    connections_to,
    seal_often,
    wait_for,
)
from tests.support.processes import processes_of

pytestmark = pytest.mark.peers

N_CASES = 70
REPETITIONS = 4
N_KILLS = 12


@pytest.fixture
def work(project, endpoint, answers, tmp_path, monkeypatch):
    """A project of 280 trials of 50 ms each, at an endpoint on this machine."""
    for number in range(N_CASES):
        validator = {"type": "exact", "value": f"Say c{number:03d}."}
        project.case(f"c{number:03d}", validator=validator)
    project.model(base_url=endpoint.base_url)
    project.profile(
        execution_policy={"max_concurrency": 16, "run_repetitions": REPETITIONS},
        runner_defaults={"temperature": 0.0},
    )
    monkeypatch.setenv("PYTHONPATH", seal_often(tmp_path))

    def script(wire, request):
        wire.sleep(0.05)
        wire.stream(answers.stream_of(request.body["messages"][0]["content"]))

    endpoint.script = script
    return project


def lines_of(run_dir):
    log = run_dir / "results.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def kill_at_random(process, run_dir, dice):
    """Kill a collector while it starts, or after some more trials; False when it was quicker."""
    if dice.random() < 0.35:
        time.sleep(dice.uniform(0, 0.8))
    else:
        enough = lines_of(run_dir) + dice.randint(1, 22)
        wait_for(lambda: lines_of(run_dir) >= enough or process.poll() is not None)
        time.sleep(dice.uniform(0, 0.04))
    process.kill()
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err, err
    assert process.returncode in (0, -9), err
    return process.returncode == -9


def test_killed_a_dozen_times_a_run_has_every_trial_once(work, endpoint, tmp_path):
    seed = int(os.environ.get("KILL_SEED", random.randrange(10**6)))
    sys.stdout.write(f"KILL_SEED={seed}\n")
    dice = random.Random(seed)
    runs, run_dir = tmp_path / "runs", tmp_path / "runs" / "r"
    process = begin(
        work.root, "run", "--suite", "s", "--run-profile", "p", "--runs", runs, "--run-id", "r"
    )
    wait_for((run_dir / "plan.jsonl").exists)
    n_killed = int(kill_at_random(process, run_dir, dice))
    while n_killed < N_KILLS:
        process = begin(work.root, "run", "--resume", "r", "--runs", runs)
        n_killed += kill_at_random(process, run_dir, dice)
        assert lines_of(run_dir) < N_CASES * REPETITIONS * 2

    done = collect(work.root, "run", "--resume", "latest", "--runs", runs, "--json")

    assert done.returncode == 0, done.stderr
    wait_for(lambda: not processes_of(runs))
    kept = assert_fits_together(run_dir)
    assert set(kept.counted()) == set(kept.planned())
    assert len(kept.planned()) == N_CASES * REPETITIONS
    assert len(kept.results()) == len(kept.planned()), "what was finished was not asked again"
    assert all(row["passed"] for row in kept.results())
    assert kept.summary()["passed_rate"] == 1.0
    asked = len(endpoint.requests)
    assert asked <= len(kept.planned()) + n_killed * 16, "at most what was in flight is asked again"
    wait_for(lambda: not connections_to(endpoint.port))


def test_killed_before_its_plan_is_written_a_run_never_began_and_says_so(work, endpoint, tmp_path):
    runs = tmp_path / "runs"
    new = ("run", "--suite", "s", "--run-profile", "p", "--runs", runs, "--run-id")
    for attempt in range(20):
        run_dir = runs / f"early-{attempt}"
        endpoint.requests.clear()  # of a run before it, which was killed too late
        process = begin(work.root, *new, run_dir.name)
        while not run_dir.exists() and process.poll() is None:
            pass
        process.kill()
        process.communicate()
        if not (run_dir / "plan.jsonl").exists():
            break
    else:
        pytest.fail("the plan was always quicker than the kill")
    assert endpoint.requests == []

    done = collect(work.root, "run", "--resume", run_dir.name, "--runs", runs)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: {run_dir} cannot be resumed: it ended before its plan was written; "
        "start a new one with `collect run`\n"
    )
    again = collect(work.root, *new, run_dir.name)
    assert (again.returncode, "exists already; choose another --run-id" in again.stderr) == (
        2,
        True,
    )
    wait_for(lambda: not processes_of(runs))

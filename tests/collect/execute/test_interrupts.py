"""Ctrl-C once, twice, and kill -9: what was finished is kept, and nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.kept_run import Kept, assert_fits_together, collect
from tests.support.processes import mirrors_of

RUN = [sys.executable, "-P", "-m", "collect", "run", "--suite", "s", "--run-profile", "p"]


@pytest.fixture
def slow(project, endpoint, answers):
    """A project of 40 trials of 0.15 s each, or as the endpoint's `delay` says."""
    for number in range(40):
        project.case(f"c{number:02d}")
    project.model(base_url=endpoint.base_url)

    def script(wire, request):
        wire.sleep(endpoint.delay)
        wire.stream(answers.stream_of("ok"))

    endpoint.delay = 0.15
    endpoint.script = script
    return project


@pytest.fixture
def slow_run(slow, tmp_path):
    """Start `collect run` of them, and wait until three are written."""
    runs = tmp_path / "runs"
    process = subprocess.Popen(
        [*RUN, "--runs", str(runs), "--run-id", "r"],
        cwd=slow.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    log = runs / "r" / "results.jsonl"
    wait_for(lambda: log.exists() and log.read_bytes().count(b"\n") >= 3)
    yield process, runs / "r"
    process.kill()
    process.communicate()


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def written(run_dir):
    return [json.loads(line) for line in (run_dir / "results.jsonl").read_text().splitlines()]


def assert_completed(run_dir, n_before):
    """Go on with the run, from anywhere, and check that nothing is asked twice."""
    done = collect(run_dir, "run", "--resume", "r", "--runs", run_dir.parent)
    assert done.returncode == 0, done.stderr
    kept = assert_fits_together(run_dir)
    assert len(kept.results()) == len(kept.counted()) == 40 > n_before
    assert all(row["success"] for row in kept.results())


def test_ctrl_c_finishes_what_is_in_flight_and_sums_up(slow_run, endpoint):
    process, run_dir = slow_run

    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)

    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "stopping: trials in flight may finish" in err
    assert "interrupted: what was finished is kept" in out
    results = [line for line in written(run_dir) if line["record_type"] == "result"]
    assert 3 <= len(results) < 40
    assert all(line["success"] for line in results), "the trial in flight was finished"
    (group,) = json.loads((run_dir / "summary.json").read_text())["models"]
    assert (group["n_planned"], group["n_total"]) == (40, len(results))
    assert mirrors_of(run_dir) == []
    assert f"next: collect run --resume r --runs {run_dir.parent}\n" in out
    endpoint.delay = 0
    assert_completed(run_dir, n_before=len(results))


def test_a_second_ctrl_c_ends_at_once(slow_run, endpoint):
    process, run_dir = slow_run
    endpoint.delay = 60
    before = len(endpoint.requests)
    wait_for(lambda: len(endpoint.requests) > before)

    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)

    assert process.returncode == 130
    assert "Traceback" not in err
    assert time.monotonic() - began < 10, "the grace of the first Ctrl-C was not waited for"
    assert (run_dir / "summary.json").exists()
    endpoint.delay = 0
    assert_completed(run_dir, n_before=len(Kept(run_dir).results()))


def test_after_kill_9_the_child_seals_what_was_written_and_goes(slow_run):
    process, run_dir = slow_run

    process.kill()
    process.wait()
    wait_for(lambda: not mirrors_of(run_dir))

    assert (run_dir / "summary.json").exists()
    (group,) = json.loads((run_dir / "summary.json").read_text())["models"]
    assert group["n_total"] == len(Kept(run_dir).results())


def test_a_full_disk_ends_the_run_with_a_sentence_and_no_torn_line(project, endpoint, tmp_path):
    """A limit on the size of files stands for the full disk: the write fails half-way."""
    for number in range(60):
        project.case(f"c{number:02d}")
    project.model(base_url=endpoint.base_url)
    limit = 80_000  # above the plan, below the results
    code = (
        "import resource, sys; from collect.cli import main; "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); main()"
    )

    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *RUN[4:], "--runs", str(tmp_path / "runs"),
         "--run-id", "r"],
        cwd=project.root, capture_output=True, text=True, check=False,
    )  # fmt: skip

    run_dir = tmp_path / "runs" / "r"
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "results.jsonl cannot be written: File too large" in done.stderr
    assert f"collect run --resume r --runs {tmp_path / 'runs'}` completes it" in done.stderr
    assert (run_dir / "results.jsonl").read_bytes().endswith(b"}\n")
    assert 10 < len(Kept(run_dir).results()) < 60
    (group,) = json.loads((run_dir / "summary.json").read_text())["models"]
    assert group["n_total"] == len(Kept(run_dir).results())


def test_plain_lines_say_how_far_the_run_is(slow, endpoint):
    endpoint.delay = 0.01

    done = collect(slow.root, *RUN[4:])

    assert done.returncode == 0
    assert "40/40 · 0 passed" in done.stderr
    assert "\x1b" not in done.stderr + done.stdout, "no escape codes where nobody can see them"
    path, then = done.stdout.splitlines()[-2:]
    assert path.endswith("summary.md")
    assert then.startswith("next: analyze report ")

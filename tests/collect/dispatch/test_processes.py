"""`collect run --processes N`: one plan in several run folders, within the limits of one."""

import contextlib
import json
import os
import signal
import threading
import time
from collections import Counter
from types import SimpleNamespace

import psutil
import pytest

from schemas.run.dispatch import ShardGrant, ShardLoss, dispatch_file, read_dispatch
from tests.support.kept_run import Kept, assert_fits_together, begin, collect, wait_for

RUN = ("run", "--suite", "s", "--run-profile", "p", "--run-id", "r")
N_CASES = 24


@pytest.fixture
def counted(project, endpoint, answers):
    """A project of 24 cases whose endpoint counts what is in flight, and when each came."""
    seen = SimpleNamespace(now=0, most=0, at=[], delay=0.02, lock=threading.Lock())

    def script(wire, request):
        with seen.lock:
            seen.now += 1
            seen.most = max(seen.most, seen.now)
            seen.at.append(time.monotonic())
        wire.sleep(seen.delay)
        with seen.lock:
            seen.now -= 1
        wire.stream(answers.stream_of("ok"))

    endpoint.script = script
    for number in range(N_CASES):
        project.case(f"c{number:02d}")
    project.model(base_url=endpoint.base_url, max_concurrency=4)
    project.profile(execution_policy={"max_concurrency": 4})
    return SimpleNamespace(
        root=project.root, runs=project.root / "runs", seen=seen, project=project
    )


def shards_of(runs, dispatch_id="r"):
    plan, _ = read_dispatch(dispatch_file(runs, dispatch_id))
    return [Kept(runs / name) for name in plan.shards]


def assert_every_trial_once(runs, n_planned=N_CASES):
    """Each trial of the plan is in one shard, with one final row; all of it is in the lake."""
    rows = Counter()
    for shard in shards_of(runs):
        kept = assert_fits_together(shard.dir)
        assert {*kept.counted()} == {*kept.planned()}
        rows.update(kept.counted().keys())
    assert len(rows) == n_planned
    assert {*rows.values()} == {1}


def shard_processes(runs):
    """Return the processes that make shards of a folder of runs, by the name of the shard."""
    found = {}
    for log in runs.glob("r-*/results.jsonl"):
        *whole, _ = log.read_bytes().split(b"\n")
        for row in map(json.loads, whole):
            if row.get("event") == "shard_attempt":
                with contextlib.suppress(psutil.NoSuchProcess):
                    process = psutil.Process(row["detail"]["pid"])
                    if process.status() != psutil.STATUS_ZOMBIE:
                        found[log.parent.name] = process
    return found


def test_every_trial_is_made_once_within_the_limits_of_one(counted):
    done = collect(counted.root, *RUN, "--processes", 3, "--json")

    report = json.loads(done.stdout)
    assert (done.returncode, report["present"], report["passed"]) == (0, N_CASES, 0), done.stderr
    assert [one["run_id"] for one in report["shards"]] == ["r-1-of-3", "r-2-of-3", "r-3-of-3"]
    assert report["by_status"] == {"success": N_CASES}
    assert counted.seen.most == 4, "4 at once in all, and no fewer"
    assert_every_trial_once(counted.runs)
    groups = {
        json.loads((s.dir / "config.json").read_text())["run_group"]
        for s in shards_of(counted.runs)
    }
    assert len(groups) == 1
    assert all(len(s.events("shard_attempt")) == 1 for s in shards_of(counted.runs))


def test_the_group_is_that_of_shards_made_one_by_one(counted):
    collect(counted.root, *RUN, "--processes", 2)
    collect(counted.root, *RUN[:-1], "alone", "--shard", "1/2")

    names = ("r-1-of-2", "alone")
    groups = [
        json.loads((counted.runs / n / "config.json").read_text())["run_group"] for n in names
    ]
    assert groups[0] == groups[1]


def test_requests_of_a_minute_are_divided(counted, endpoint):
    counted.project.model(base_url=endpoint.base_url, max_concurrency=4, requests_per_minute=600)
    done = collect(counted.root, *RUN, "--processes", 2)

    assert done.returncode == 0, done.stderr
    assert len(counted.seen.at) == N_CASES
    took = max(counted.seen.at) - min(counted.seen.at)
    assert took >= (N_CASES - 1 - 2) / 10, "600 a minute are 10 a second; each begins at once"


def test_a_process_that_is_killed_is_gone_on_with(counted):
    counted.seen.delay = 0.3
    process = begin(counted.root, *RUN, "--processes", 2, "--json")
    first = counted.runs / "r-1-of-2" / "results.jsonl"
    wait_for(lambda: first.exists() and first.read_bytes().count(b'"result"') >= 3)
    made = shard_processes(counted.runs)
    assert not any("collect.dispatch.shard" in one.cmdline() for one in made.values()), "forked"
    made["r-1-of-2"].kill()
    wait_for(
        lambda: shard_processes(counted.runs).get("r-1-of-2", made["r-1-of-2"]) != made["r-1-of-2"]
    )
    assert "collect.dispatch.shard" in shard_processes(counted.runs)["r-1-of-2"].cmdline()
    out, err = process.communicate(timeout=60)

    assert process.returncode == 0, err
    assert "r-1-of-2 was lost: it was killed (SIGKILL); it goes on where its log ends" in err
    assert json.loads(out)["n_lost"] == 1
    assert_every_trial_once(counted.runs)
    assert len(counted.seen.at) <= N_CASES + 4, "only what was in flight is asked again"
    assert counted.seen.most <= 4 + 2, "the endpoint still answers the two of the dead process"


def test_a_coordinator_that_is_killed_takes_its_shards_with_it_and_resume_completes_all(counted):
    counted.seen.delay = 0.3
    process = begin(counted.root, *RUN, "--processes", 2)
    wait_for(lambda: len(counted.seen.at) >= 8)
    process.kill()
    process.communicate()
    wait_for(lambda: not shard_processes(counted.runs), 20)
    n_asked = len(counted.seen.at)
    done = collect(counted.root, "run", "--resume", "r", "--json")

    assert done.returncode == 0, done.stderr
    assert_every_trial_once(counted.runs)
    assert len(counted.seen.at) == N_CASES, "what was in flight was finished before they ended"
    assert n_asked < N_CASES


def test_ctrl_c_finishes_what_is_in_flight_and_latest_goes_on_with_all_shards(counted):
    counted.seen.delay = 0.3
    process = begin(counted.root, *RUN, "--processes", 2, "--json")
    wait_for(lambda: len(counted.seen.at) >= 8)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)

    assert process.returncode == 130, err
    assert "stopping: trials in flight may finish" in err
    report = json.loads(out)
    assert 0 < report["present"] < N_CASES
    assert report["present"] == sum(len(s.results()) for s in shards_of(counted.runs))
    done = collect(counted.root, "run", "--resume", "latest")
    assert done.returncode == 0, done.stderr
    assert f"{N_CASES} of {N_CASES} trials in 2 shards" in done.stdout
    assert_every_trial_once(counted.runs)
    assert len(counted.seen.at) == N_CASES


def test_all_shards_together_stay_within_max_cost(counted, endpoint, answers):
    """An answer of 100 tokens costs 0.1 USD: the limit is good for ten of 24, not for eleven."""
    counted.project.profile(
        execution_policy={"max_concurrency": 4}, runner_defaults={"max_tokens": 100}
    )
    endpoint.script = lambda wire, request: wire.stream(
        answers.stream_of("ok", usage=answers.usage(completion=100))
    )
    done = collect(
        counted.root, *RUN, "--processes", 2, "--json",
        "--max-cost", "1.05", "--assume-price", "0/1000",
    )  # fmt: skip

    report = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert (report["cost_usd"], report["present"]) == (1.0, 10)
    assert "max_cost" in done.stderr
    _, lines = read_dispatch(dispatch_file(counted.runs, "r"))
    granted = {one.shard: one.nano_usd for one in lines if isinstance(one, ShardGrant)}
    assert {*granted} == {1, 2}, "each was granted some, and what one left went to the other"
    assert not [one for one in lines if isinstance(one, ShardLoss)]

    done = collect(
        counted.root, "run", "--resume", "r", "--json",
        "--max-cost", "1.55", "--assume-price", "0/1000",
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert (done.returncode, report["cost_usd"], report["present"]) == (1, 1.5, 15), done.stderr


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--processes", "5"], "5 shards cannot share max_concurrency of the run profile"),
        (["--processes", "2", "--shard", "1/2"], "--shard is one part of a plan"),
        (["--processes", "2", "--executor", "processes"], "leave --executor out"),
        (["--shards", "2"], "--shards is for --executor"),
        (["--address", "h:1"], "--address is for --executor ray"),
    ],
)
def test_what_cannot_be_divided_or_says_nothing_is_refused(counted, flags, words):
    done = collect(counted.root, *RUN, *flags)

    assert done.returncode == 2
    assert words in done.stderr
    assert not counted.runs.exists() or not any(counted.runs.iterdir())
    assert counted.seen.at == []


def test_a_name_that_is_taken_is_refused(counted):
    assert collect(counted.root, *RUN, "--processes", 2).returncode == 0
    done = collect(counted.root, *RUN, "--processes", 2)

    assert done.returncode == 2
    assert "r-1-of-2" in done.stderr


def test_where_one_folder_is_taken_none_is_made(counted):
    (counted.runs / "r-2-of-2").mkdir(parents=True)
    done = collect(counted.root, *RUN, "--processes", 2)

    assert done.returncode == 2
    assert "r-2-of-2" in done.stderr
    assert [path.name for path in counted.runs.iterdir()] == ["r-2-of-2"]
    assert counted.seen.at == []


def test_one_shard_is_completed_alone_as_any_run(counted):
    counted.seen.delay = 0.3
    process = begin(counted.root, *RUN, "--processes", 2)
    wait_for(lambda: len(counted.seen.at) >= 6)
    process.kill()
    process.communicate()
    wait_for(lambda: not shard_processes(counted.runs), 20)

    done = collect(counted.root, "run", "--resume", "r-2-of-2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["run_id"] == "r-2-of-2"
    assert assert_fits_together(counted.runs / "r-2-of-2").planned()

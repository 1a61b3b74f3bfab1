"""`collect run --executor ray` on two real nodes, one of which dies in the middle."""

import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter

import pytest

from tests.support.kept_run import assert_fits_together, command, wait_for
from tests.support.ray_nodes import need_ray, two_nodes

pytestmark = [pytest.mark.peers, pytest.mark.timeout(240)]

RUN = ("run", "--suite", "s", "--run-profile", "p", "--run-id", "r", "--executor", "ray")


@pytest.fixture(scope="module")
def nodes():
    with two_nodes() as cluster:
        yield cluster


@pytest.fixture
def slow(project, endpoint, answers, monkeypatch):
    """A project of 240 trials of 0.1 s whose endpoint wants a key, and counts."""
    monkeypatch.setenv("NODES_API_KEY", "let-me-in-please-0123456789")
    endpoint.at, endpoint.keys, lock = [], Counter(), threading.Lock()

    def script(wire, request):
        with lock:
            endpoint.at.append(time.monotonic())
            endpoint.keys[request.headers.get("authorization")] += 1
        wire.sleep(0.1)
        wire.stream(answers.stream_of("ok"))

    endpoint.script = script
    for number in range(60):
        project.case(f"c{number:02d}", validator={"type": "exact", "value": "ok"})
    project.model(
        base_url=endpoint.base_url, max_concurrency=8, api_key_env="NODES_API_KEY",
        requests_per_minute=3_000,
    )  # fmt: skip
    project.profile(execution_policy={"max_concurrency": 8, "run_repetitions": 4})
    return project


def begin(root, *arguments):
    return subprocess.Popen(
        command(*arguments), cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def assert_whole(runs, n_planned):
    rows = Counter()
    for name in ("r-1-of-2", "r-2-of-2"):
        kept = assert_fits_together(runs / name)
        assert {*kept.counted()} == {*kept.planned()}
        rows.update(kept.counted().keys())
    assert (len(rows), {*rows.values()}) == (n_planned, {1})


def test_a_node_that_dies_loses_nothing_and_ctrl_c_is_gone_on_with(nodes, slow, endpoint):
    runs, log = slow.root / "runs", slow.root / "runs" / "r-2-of-2" / "results.jsonl"
    process = begin(slow.root, *RUN, "--address", nodes.address, "--json")
    wait_for(lambda: log.exists() and log.read_bytes().count(b'"result"') >= 10, 90)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    stopped = json.loads(out)
    assert 0 < stopped["present"] < 240
    assert len(endpoint.at) == stopped["present"], "what was in flight has come home"

    process = begin(slow.root, "run", "--resume", "r", "--json")
    wait_for(lambda: len(endpoint.at) >= 120, 90)
    nodes.kill_one()
    out, err = process.communicate(timeout=120)
    assert out, err

    assert out.startswith("{"), out + err
    report = json.loads(out)
    assert (process.returncode, report["present"], report["passed"]) == (0, 240, 240), err
    assert report["n_lost"] >= 1
    assert "was lost" in err
    assert_whole(runs, 240)
    assert len(endpoint.at) <= 240 + 8 + 20, "asked again: what was in flight, or not home yet"
    assert {*endpoint.keys} == {"Bearer let-me-in-please-0123456789"}
    at = sorted(endpoint.at)
    most = max(sum(begun <= one < begun + 2 for one in at) for begun in at)
    assert most <= 100 + 12, "3,000 a minute are 100 in two seconds, however they are divided"


def test_without_a_cluster_there_it_says_so(slow):
    need_ray()
    process = begin(slow.root, *RUN, "--address", "127.0.0.1:9", "--shards", "2")
    out, err = process.communicate(timeout=200)

    assert process.returncode == 2, out
    assert "no Ray cluster can be joined" in err
    assert not (slow.root / "runs").exists()

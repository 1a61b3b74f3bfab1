"""A collector that is killed with four agents under way: the next start leaves nothing behind."""

import contextlib
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import orjson
import pytest

from tests.support.agent_bench import AgentBench
from tests.support.real_openclaw import containers, real_image

pytestmark = pytest.mark.agents

N_TRIALS, AT_ONCE = 10, 4


def mounts(of):
    """Return the mounts of containers that nobody runs, and of folders of a sandbox."""
    lines = Path("/proc/mounts").read_text().splitlines()
    running = subprocess.run(
        ["podman", "ps", "--quiet"], capture_output=True, text=True, check=True
    ).stdout.split()
    overlays = [one for one in lines if "/overlay/" in one]
    return [*overlays[len(running) :], *(one for one in lines if str(of) in one)]


def scratch_folders():
    return [*Path(os.environ.get("TMPDIR", "/tmp")).glob("benchlake-*")]


def lines_of(bench):
    log = bench.root / "runs/r/results.jsonl"
    rows = map(orjson.loads, log.read_bytes().splitlines()) if log.exists() else ()
    return [one for one in rows if one["record_type"] == "result"]


def test_ten_trials_four_at_once_with_a_killed_collector(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    (tmp_path / "t").mkdir(mode=0o777)
    (tmp_path / "t").chmod(0o777)
    bench = AgentBench(tmp_path / "p", real_image())
    before = mounts(tmp_path)
    with contextlib.closing(bench):
        bench.profile(repetitions=N_TRIALS, concurrency=AT_ONCE)
        found = {"kind": "file_contains", "path": "made.md", "text": "by the agent"}
        bench.case("one", "#one [slow: 0.5] [write made.md: by the agent] [say: Made]",
                   checks=[found])  # fmt: skip
        started = subprocess.Popen(
            bench.command(), cwd=bench.root, env=bench.environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + 120
        while not (2 <= len(lines_of(bench)) < N_TRIALS and len(containers(tmp_path)) >= 2):
            assert time.monotonic() < deadline, (len(lines_of(bench)), containers(tmp_path))
            assert started.poll() is None, "it ended before it was killed"
            time.sleep(0.05)
        os.kill(started.pid, signal.SIGKILL)
        started.wait()
        n_before = len(lines_of(bench))

        result = bench.run("--resume")

        assert result.exit_code == 0, result.output
        counted = Counter((one["case_id"], one["repetition"]) for one in lines_of(bench))
        assert counted == {("one", number): 1 for number in range(1, N_TRIALS + 1)}
        assert n_before < N_TRIALS
        assert all(one["passed"] for one in lines_of(bench))
        assert containers(tmp_path) == []
        assert [one for one in mounts(tmp_path) if one not in before] == []
        assert scratch_folders() == []

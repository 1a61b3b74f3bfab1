"""The sandbox of a run: said by `plan`, refused where it does not hold, gone when the run is."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from collect.execute.tools import locked_in
from collect.sandbox.probe import Holds
from schemas.errors import ConfigError
from tests.support.kept_run import Kept, begin, collect
from tests.support.sandboxes import sandboxed
from tests.support.tool_endpoint import ToolModel

pytestmark = [pytest.mark.agents, sandboxed]

SUITE = ("--suite", "s", "--run-profile", "p")
UNSAFE = "--unsafe-no-sandbox"
WHERE = ("exec_shell", {"command": "pwd; id -u; cat /proc/1/comm"})


@pytest.fixture
def work(project, endpoint):
    endpoint.script = ToolModel([WHERE])
    context = {"llm_probe": {"tools": ["exec_shell"]}}
    messages = [{"role": "user", "content": "Where are you?"}]
    project.case("shell", input={"messages": messages, "context": context})
    project.model(base_url=endpoint.base_url)
    return project


def nothing_on(tmp_path):
    """Return an environment whose PATH has no command."""
    return {"PATH": str(tmp_path / "nowhere")}


def output_lines(work, run="r"):
    """Return what the first command of a run printed, line by line."""
    kept = Kept(work.root / "runs" / run)
    (row,) = kept.results()
    (result,) = [one for one in kept.artifact(row).trace if one.event_type == "tool_result"]
    return result.output["stdout"].splitlines()


def test_plan_says_what_needs_a_sandbox_and_that_it_holds(work, endpoint):
    work.case("plain")

    text = collect(work.root, "plan", *SUITE)
    plan = json.loads(collect(work.root, "plan", *SUITE, "--json").stdout)

    assert text.returncode == 0, text.stderr
    (line,) = [line for line in text.stdout.splitlines() if line.startswith("sandbox ")]
    assert "holds here, for the tools of 1 case: a command has 30 s, 1,000 MB of memory, " in line
    assert line.endswith("64 processes")
    assert "offers: exec_shell" in text.stdout
    assert (plan["sandbox"]["backend"], plan["sandbox"]["cases"]) == ("bwrap", ["shell"])
    assert plan["sandbox"]["version"]
    assert endpoint.requests == []


def test_a_run_says_where_its_commands_were_locked_in(work):
    work.profile(sandbox={"limits": {"memory_mb": 300}})

    done = collect(work.root, "run", *SUITE, "--run-id", "r")

    assert done.returncode == 0, done.stderr
    where, uid, first = output_lines(work)
    assert where == "/workspace"
    assert int(uid) != 0
    assert first == "bwrap"
    config = json.loads((work.root / "runs/r/config.json").read_text())
    assert (config["sandbox"]["backend"], config["sandbox"]["limits"]["memory_mb"]) == (
        "bwrap",
        300,
    )
    inventory = json.loads((work.root / "runs/r/inventory.json").read_text())
    assert "0." in inventory["sandbox"]


def test_a_run_without_tools_looks_at_no_sandbox(work, tmp_path):
    work.case("plain")

    done = collect(
        work.root, "run", *SUITE, "--case", "plain", "--run-id", "r", **nothing_on(tmp_path)
    )

    assert done.returncode == 0, done.stderr
    assert json.loads((work.root / "runs/r/config.json").read_text())["sandbox"] is None


def test_without_a_sandbox_only_when_it_is_said(work, endpoint, tmp_path):
    refused = collect(work.root, "run", *SUITE, "--run-id", "r", **nothing_on(tmp_path))
    assert refused.returncode == 2
    assert "bubblewrap is not installed" in refused.stderr
    assert endpoint.requests == []
    assert not (work.root / "runs").exists()

    plan = collect(work.root, "plan", *SUITE, UNSAFE)
    assert "NO SANDBOX: commands of a model run on this machine" in plan.stdout

    done = collect(work.root, "run", *SUITE, UNSAFE, "--run-id", "r")
    assert done.returncode == 0, done.stderr
    config = json.loads((work.root / "runs/r/config.json").read_text())
    assert config["sandbox"]["backend"] == "none"
    assert output_lines(work)[0] != "/workspace"
    assert "warning: " in done.stderr
    assert UNSAFE in done.stderr


def test_a_sandbox_that_fails_for_a_reason_that_nobody_knows_is_told_in_whole_words(
    work, monkeypatch
):
    odd = Holds("bwrap", "0.8.0", "it fails")
    monkeypatch.setattr("collect.execute.tools._probed", lambda *_, **__: odd)

    with pytest.raises(ConfigError) as caught:
        locked_in(work.load(), is_unsafe=False, skip_unevaluable=False)

    end = "it fails; needed by the tools of case `shell`; --skip-unevaluable leaves these cases out"
    assert str(caught.value).endswith(end)


def test_a_run_goes_on_with_the_sandbox_it_was_planned_with(work, endpoint, tmp_path):
    answers = endpoint.script
    endpoint.script = lambda wire, request: wire.answer({"error": {"message": "no"}}, status=503)
    work.profile(runner_defaults={"retries": 0})
    collect(work.root, "run", *SUITE, "--run-id", "r")
    collect(work.root, "run", *SUITE, UNSAFE, "--run-id", "u")
    endpoint.script = answers
    asked = len(endpoint.requests)

    for run, flags, said in (
        ("r", [UNSAFE], f"leave {UNSAFE} out"),
        ("u", [], f"`collect run --resume u {UNSAFE}` goes on with it"),
    ):
        refused = collect(work.root, "run", "--resume", run, *flags)
        assert refused.returncode == 2, refused.stderr
        assert said in refused.stderr
    refused = collect(work.root, "run", "--resume", "r", **nothing_on(tmp_path))
    assert refused.returncode == 2
    assert "bubblewrap is not installed" in refused.stderr
    assert len(endpoint.requests) == asked

    assert collect(work.root, "run", "--resume", "r").returncode == 0
    assert collect(work.root, "run", "--resume", "u", UNSAFE).returncode == 0
    newest = Kept(work.root / "runs" / "r").counted()
    assert [row["success"] for row in newest.values()] == [True]


@pytest.fixture
def scratch():
    """A folder in which sandboxes of this test alone keep their files; any user may enter it."""
    folder = Path(tempfile.mkdtemp(prefix="benchlake-test-", dir="/tmp"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def inside(scratch):
    """Return the processes that see the folder: helpers by their command, the others mount it."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            mounts = (process / "mountinfo").read_text()
            words = (process / "cmdline").read_text()
            if scratch.name in mounts or scratch.name in words:
                found.add(process.name)
    return found


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert holds, subprocess.check_output(["ps", "axf"], text=True)


@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_process_and_no_file(work, endpoint, scratch, ends):
    endpoint.script = ToolModel([("exec_shell", {"command": "sleep 300 & sleep 301"})])
    work.profile(execution_policy={"run_repetitions": 200, "max_concurrency": 8})
    run = begin(work.root, "run", *SUITE, "--run-id", "r", TMPDIR=str(scratch))
    try:
        wait_for(lambda: run.poll() is not None or len(inside(scratch)) >= 10)
        assert run.poll() is None, run.communicate()
    finally:
        os.kill(run.pid, ends)
        if ends == signal.SIGINT:
            time.sleep(0.5)
            os.kill(run.pid, ends)
        sys.stderr.writelines(run.communicate(timeout=60))

    wait_for(lambda: not inside(scratch) and not list(scratch.iterdir()))


def test_two_hundred_trials_leave_nothing(work, endpoint, scratch):
    touch = ("exec_shell", {"command": "(setsid sleep 300 &) ; echo $$ > pid; mkdir d; chmod 0 d"})
    endpoint.script = ToolModel([touch])
    work.profile(execution_policy={"run_repetitions": 200, "max_concurrency": 8})

    done = collect(work.root, "run", *SUITE, "--run-id", "r", TMPDIR=str(scratch))

    assert done.returncode == 0, done.stderr
    rows = Kept(work.root / "runs" / "r").results()
    assert [row["success"] for row in rows] == [True] * 200
    assert not inside(scratch)
    assert not list(scratch.iterdir())
    assert scratch.name not in Path("/proc/self/mountinfo").read_text()

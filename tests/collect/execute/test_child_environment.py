"""No process that a run starts gets to see a key, but the one key that a server is started with."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from collect.config.endpoints import without_secrets
from collect.execute.mirror_process import MIRROR_MODULE, MirrorChild
from collect.inventory.git import output_of
from collect.local import model as local_child
from collect.local.server import KEY_VARIABLE

SECRETS = ("OPENAI_API_KEY", "MY_TOKEN", "DB_PASSWORD", "aws_secret", "GOOGLE_CREDENTIALS")


@pytest.fixture(autouse=True)
def secrets(monkeypatch):
    for name in SECRETS:
        monkeypatch.setenv(name, f"value-of-{name}")
    monkeypatch.setenv("HARMLESS", "stays")


def environment_of(pid, command):
    """Return a process's environment once it runs its own command, not yet a copy of ours."""
    folder, deadline, raw = Path(f"/proc/{pid}"), time.monotonic() + 10, b""
    while command not in (folder / "cmdline").read_bytes() or not raw:
        assert time.monotonic() < deadline
        time.sleep(0.002)
        raw = (folder / "environ").read_bytes()
    return dict(entry.split("=", 1) for entry in raw.decode().split("\0") if entry)


def assert_no_keys(environment):
    assert not set(SECRETS) & set(environment)
    assert "value-of-" not in str(environment)
    assert environment["HARMLESS"] == "stays"


def test_only_variables_that_look_like_secrets_are_left_out(monkeypatch):
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "1")

    left = set(os.environ) - set(without_secrets())

    assert left >= set(SECRETS)
    assert without_secrets()["TOKENIZERS_PARALLELISM"] == "1"
    assert without_secrets()["PATH"] == os.environ["PATH"]


def test_small_commands_see_no_keys():
    output = asyncio.run(output_of("env", "-0"))

    assert_no_keys(dict(entry.split("=", 1) for entry in output.text.split("\0") if entry))


def test_a_command_can_be_kept_from_seeing_more():
    output = asyncio.run(output_of("env", "-0", environment={"HARMLESS": None, "MORE": "1"}))

    entries = output.text.split("\0")
    assert "MORE=1" in entries
    assert not [entry for entry in entries if entry.startswith("HARMLESS=")]


def test_the_mirror_sees_no_keys(tmp_path):
    async def go():
        child = await MirrorChild.start(tmp_path)
        found = environment_of(child.pid, MIRROR_MODULE.encode())
        await child.finish()
        return found

    assert_no_keys(asyncio.run(go()))


def test_the_local_models_server_sees_its_own_key_alone(tmp_path, monkeypatch):
    sleeper = tmp_path / "server.py"
    sleeper.write_text("import sys; sys.stdin.read()")
    monkeypatch.setattr(local_child.server, "__file__", str(sleeper))
    monkeypatch.setenv(KEY_VARIABLE, "an older one")

    child = local_child.LocalModel([], api_key="its own", start_seconds=5.0)
    try:
        found = environment_of(child.pid, b"server.py")
    finally:
        child.stop()

    assert_no_keys(found)
    assert found[KEY_VARIABLE] == "its own"


def test_a_command_that_takes_too_long_is_ended_with_what_it_started(tmp_path):
    script = tmp_path / "slow"
    script.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {tmp_path}/pid\nwait\n")
    script.chmod(0o755)

    output = asyncio.run(output_of(str(script), timeout_s=0.5))

    assert output.error == "no answer within 0.5 s"
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_command_nobody_waits_for_is_ended(tmp_path):
    pid = tmp_path / "pid"

    async def go():
        code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
        task = asyncio.create_task(output_of(sys.executable, "-c", code))
        while not (pid.exists() and pid.read_text()):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(go())

    assert is_gone(int(pid.read_text()))


def is_gone(pid):
    """Whether a process that was killed dies soon; one that nobody has reaped yet is dead."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False

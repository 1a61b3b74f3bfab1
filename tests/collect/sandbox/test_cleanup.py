"""Whatever ends, and however, no process, mount or file of a sandbox is left."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from collect.sandbox import Bwrap, Command, Sandbox, SandboxError
from collect.sandbox.client import SLOTS_A_CORE
from tests.support.cage import (
    PROFILE,
    USERS,
    Cage,
    cage_of,
    descendants,
    mounts,
    processes_naming,
    require_bwrap,
    scratch_folders,
    temporary_folder,
)
from tests.support.interpreter import run_without
from tests.support.paths import ROOT

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux"),
]

N_STARTING = 3
"""Of the commands of a holder that begin again and again; the others stay."""

HOLDER = """
import asyncio, sys
from collect.sandbox import Bwrap, Command, Sandbox
from tests.support.cage import PROFILE

async def main():
    sandbox = await Sandbox.open(PROFILE, Bwrap(PROFILE.limits))
    print(sandbox.pid, flush=True)
    script = "echo x > f; (setsid sleep 60 &); sleep 0.$((RANDOM % 5)); [ $1 = 0 ] || sleep 60"

    async def work(number):
        folders = await sandbox.folders()
        while True:
            await sandbox.run(folders, Command(argv=("/bin/bash", "-c", script, "sh", str(number))))

    await asyncio.gather(*(work(number % 3) for number in range(8)))

asyncio.run(main())
"""


@pytest.fixture
def temporary():
    require_bwrap()
    with temporary_folder() as folder:
        yield folder


def wait_until(holds, seconds=15):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.02)


async def until(holds):
    await asyncio.to_thread(wait_until, holds)


@pytest.fixture
def holder(temporary):
    """A process that holds a sandbox with commands in it; the number of its helper."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        helper = int(process.stdout.readline())
        wait_until(lambda: len([*temporary.glob("*/trial-*/workspace/f")]) == 8)
        yield process, helper
        process.kill()


@pytest.mark.parametrize("user", USERS)
def test_many_commands_leave_nothing(user, temporary):
    before = mounts()

    async def work(sandbox, number):
        folders = await sandbox.folders()
        argv = ("/bin/sh", "-c", "echo $1 > f; (setsid sleep 60 &) ; cat f", "sh", str(number))
        done = await sandbox.run(folders, Command(argv=argv))
        await sandbox.remove(folders)
        return done.stdout.data.decode().strip()

    async def all_of(sandbox):
        busy = asyncio.Semaphore(8)

        async def one(number):
            async with busy:
                return await work(sandbox, number)

        return await asyncio.gather(*(one(number) for number in range(200)))

    with cage_of(user) as cage:
        said = cage.call(all_of(cage.sandbox))
        wait_until(lambda: not cage.children())  # the last folder's `rm` may have its end ahead
        (scratch,) = scratch_folders(temporary)
        assert [path.name for path in scratch.iterdir()] == ["etc"]

    assert said == [str(number) for number in range(200)]
    assert processes_naming(temporary) == []
    assert list(temporary.iterdir()) == []
    assert mounts() == before


def test_a_collector_that_is_killed_leaves_nothing(holder, temporary):
    process, helper = holder

    process.kill()

    wait_until(lambda: not psutil.pid_exists(helper))
    assert processes_naming(temporary) == []
    assert list(temporary.iterdir()) == []


def test_a_helper_that_is_killed_as_well_is_cleaned_up_after(holder, temporary):
    process, helper = holder

    os.kill(helper, signal.SIGKILL)
    process.kill()
    wait_until(lambda: not psutil.pid_exists(process.pid) or process.poll() is not None)
    wait_until(lambda: len(processes_naming(temporary)) <= N_STARTING)
    assert len(scratch_folders(temporary)) == 1
    cage = Cage()
    try:
        wait_until(lambda: len(scratch_folders(temporary)) == 1)
        wait_until(lambda: processes_naming(temporary) == [])  # `rm` ends after its folder has
        assert cage.sh("true").exit_code == 0
    finally:
        cage.close()

    assert list(temporary.iterdir()) == []


def test_the_folder_of_a_helper_that_lives_is_left_alone(temporary):
    first, second = Cage(), Cage()
    try:
        assert len(scratch_folders(temporary)) == 2
        assert first.sh("true").exit_code == second.sh("true").exit_code == 0
    finally:
        first.close()
        second.close()


def test_a_folder_of_another_kind_is_left_alone(temporary):
    others = temporary / "benchlake-sandbox-notes.txt"
    others.write_text("mine")
    link = temporary / "benchlake-sandbox-link"
    link.symlink_to(ROOT)
    cage = Cage()
    try:
        assert cage.sh("true").exit_code == 0
    finally:
        cage.close()

    assert others.read_text() == "mine"
    assert (link / "pyproject.toml").is_file()


def test_ctrl_c_reaches_no_helper(holder, temporary):
    process, helper = holder

    assert os.getpgid(helper) != os.getpgid(process.pid)
    os.kill(helper, signal.SIGINT)
    time.sleep(0.3)

    assert psutil.pid_exists(helper)
    assert processes_naming(temporary) != []


@pytest.mark.parametrize("user", USERS)
def test_the_helper_has_no_rights(user, temporary):
    with cage_of(user) as cage:
        status = Path(f"/proc/{cage.sandbox.pid}/status").read_text()
        facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        nice = psutil.Process(cage.sandbox.pid).nice()

    ids = {*facts["Uid"].split(), *facts["Gid"].split()}
    assert len(ids) == 1
    assert "0" not in ids
    if os.geteuid() == 0:
        assert facts["Groups"].strip() == ""
    assert {int(facts[name], 16) for name in ("CapEff", "CapPrm", "CapAmb")} == {0}
    assert nice >= 10


def test_a_run_that_is_cancelled_ends_its_command(temporary):
    async def main():
        sandbox = await Sandbox.open(PROFILE, Bwrap(PROFILE.limits))
        try:
            folders = await sandbox.folders()
            command = Command(argv=("/bin/sh", "-c", "while :; do echo x >> f; sleep 0.01; done"))
            task = asyncio.create_task(sandbox.run(folders, command))
            await until((folders.workspace / "f").exists)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            size = (folders.workspace / "f").stat().st_size
            await asyncio.sleep(0.1)
            assert (folders.workspace / "f").stat().st_size == size
            assert (await sandbox.run(folders, Command(argv=("true",)))).exit_code == 0
        finally:
            await sandbox.aclose()

    asyncio.run(main())


def test_a_run_that_is_cancelled_while_it_begins_is_gone_as_well(temporary):
    """Before bwrap said who the first process inside is, nobody waits for that one by itself."""

    async def main():
        left = []
        sandbox = await Sandbox.open(PROFILE, Bwrap(PROFILE.limits))
        try:
            folders = await sandbox.folders()
            for number in range(200):
                nap = Command(argv=("sleep", "60"))
                task = asyncio.create_task(sandbox.run(folders, nap))
                await asyncio.sleep(number % 20 / 1000)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                left += descendants(sandbox.pid)
        finally:
            await sandbox.aclose()
        return left

    assert asyncio.run(main()) == []


def test_a_run_that_waits_for_its_turn_can_be_cancelled(temporary):
    async def main():
        sandbox = await Sandbox.open(PROFILE, Bwrap(PROFILE.limits))
        try:
            folders = await sandbox.folders()
            n_slots = SLOTS_A_CORE * os.cpu_count()
            nap, late = Command(argv=("sleep", "1")), Command(argv=("touch", "late"))
            busy = [asyncio.create_task(sandbox.run(folders, nap)) for _ in range(n_slots)]
            waiting = asyncio.create_task(sandbox.run(folders, late))
            await asyncio.sleep(0.2)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert not any(task.done() for task in busy)
            assert {(await task).exit_code for task in busy} == {0}
            assert not (folders.workspace / "late").exists()
        finally:
            await sandbox.aclose()

    asyncio.run(main())


def test_a_start_that_is_cancelled_leaves_nothing(temporary):
    async def main():
        opening = asyncio.create_task(Sandbox.open(PROFILE, Bwrap(PROFILE.limits)))
        await until(lambda: scratch_folders(temporary))
        opening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await opening).aclose()

    asyncio.run(main())

    assert list(temporary.iterdir()) == []


def test_a_helper_that_dies_is_told_to_all_who_wait(temporary):
    async def main():
        sandbox = await Sandbox.open(PROFILE, Bwrap(PROFILE.limits))
        folders = await sandbox.folders()
        waiting = [
            asyncio.create_task(sandbox.run(folders, Command(argv=("sleep", "60"))))
            for _ in range(20)
        ]
        await until(lambda: processes_naming(folders.workspace))
        os.kill(sandbox.pid, signal.SIGKILL)
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert {type(one) for one in results} == {SandboxError}
        with pytest.raises(SandboxError, match="helper ended"):
            await sandbox.run(folders, Command(argv=("true",)))
        await sandbox.aclose()
        await until(lambda: not processes_naming(temporary))

    asyncio.run(main())

    assert list(temporary.iterdir()) == []


def test_closing_ends_what_runs(temporary):
    async def main():
        sandbox = await Sandbox.open(PROFILE, Bwrap(PROFILE.limits))
        folders = await sandbox.folders()
        task = asyncio.create_task(sandbox.run(folders, Command(argv=("sleep", "60"))))
        await until(lambda: processes_naming(folders.workspace))
        await sandbox.aclose()
        await sandbox.aclose()
        with pytest.raises(SandboxError, match="closed"):
            await task

    began = time.monotonic()
    asyncio.run(main())

    assert time.monotonic() - began < 30
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone has folders that its helper cannot use")
def test_a_folder_that_only_root_can_use_is_not_needed(temporary):
    temporary.chmod(0o700)
    cage = Cage()
    try:
        assert cage.sh("true").exit_code == 0
        assert list(temporary.iterdir()) == []
    finally:
        cage.close()


def test_the_helper_loads_nothing_slow():
    run_without("import collect.sandbox.helper", "asyncio", "pydantic", "subprocess", "msgspec")

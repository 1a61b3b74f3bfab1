"""Real containers of podman and docker: what a command in one can do, and what is left of it."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import time

import psutil
import pytest

from collect.sandbox import engine as engine_module
from collect.sandbox.base import ENVIRONMENT, Command, Folders, SandboxError
from collect.sandbox.client import Sandbox
from collect.sandbox.engine import LABEL, Engine
from collect.sandbox.probe import probe
from schemas.config.sandbox import SandboxProfile
from tests.support import containers

pytestmark = pytest.mark.agents

SECRET = "benchlake-test-secret"
NOBODY = 65_534
START_S = 20


@pytest.fixture(scope="session")
def docker_host():
    with containers.docker_daemon() as host:
        yield host


@pytest.fixture(params=["podman", "docker"])
def client(request, monkeypatch):
    """The name of a client whose engine runs."""
    if request.param == "docker":
        monkeypatch.setenv("DOCKER_HOST", request.getfixturevalue("docker_host"))
    else:
        containers.needs("podman", "runc")
    yield request.param
    asyncio.run(until(lambda: not containers.ours(request.param)))  # docker removes what is over
    containers.remove_images(request.param)


@pytest.fixture
def image(client):
    return containers.make_image(client)


def profile_of(client, image, **limits):
    return SandboxProfile.model_validate({"backend": client, "image": image, "limits": limits})


@contextlib.asynccontextmanager
async def opened(client, image, **limits):
    """A sandbox with the folders of a trial."""
    profile = profile_of(client, image, **limits)
    sandbox = await Sandbox.open(profile, Engine(client, image, profile.limits))
    try:
        yield sandbox, await sandbox.folders()
    finally:
        await sandbox.aclose()


def run(client, image, script, *, stdin=b"", network=False, timeout_s=None, **limits):
    """Run a script of the shell in a new sandbox, and return what came of it."""

    async def locked_in():
        async with opened(client, image, **limits) as (sandbox, folders):
            argv = ("/bin/sh", "-c", script)
            command = Command(argv=argv, stdin=stdin, network=network, timeout_s=timeout_s)
            return await sandbox.run(folders, command)

    return asyncio.run(locked_in())


def text(done):
    return done.stdout.data.decode()


def sleepers(seconds):
    """Return the processes of this machine that sleep for a strange time."""
    found = (one.info["cmdline"] for one in psutil.process_iter(["cmdline"]))
    return [line for line in found if line in (["sleep", seconds], ["/bin/sleep", seconds])]


async def until(condition):
    """Wait for something that comes about by itself."""
    async with asyncio.timeout(START_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def test_a_command_reads_prints_and_ends(client, image):
    done = run(client, image, "cat; echo oh >&2; exit 7", stdin=b"hello\n")

    assert (text(done), done.stderr.data) == ("hello\n", b"oh\n")
    assert (done.exit_code, done.signal, done.ended_by) == (7, None, "exit")


def test_the_probe_holds_and_tells_which_image_it_was(client, image):
    profile = profile_of(client, image)

    holds = asyncio.run(probe(profile, Engine(client, image, profile.limits)))

    assert (holds.problem, holds.advice) == (None, "")
    identity, digests = (
        containers.lines(client, "image", "inspect", "--format", field, image)[0]
        for field in ("{{.Id}}", "{{.RepoDigests}}")
    )
    digest = holds.version.rpartition("sha256:")[2]
    assert holds.version.startswith(f"{client} ")
    assert len(digest) == 64
    assert digest in (identity if digests == "[]" else digests)


def test_a_command_is_nobody_without_rights_in_an_environment_of_ours(client, image, monkeypatch):
    monkeypatch.setenv("SOME_SETTING", SECRET)
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:{SECRET}@proxy.example")

    done = run(client, image, "id -u; pwd; grep -E '^(Cap|NoNew)' /proc/self/status; env")

    user, folder, *rights = text(done).splitlines()[:8]
    assert user == str(NOBODY if os.geteuid() == 0 else os.geteuid())
    assert folder == "/workspace"
    assert [line.split()[1] for line in rights] == [*["0" * 16] * 5, "1"]
    assert SECRET not in text(done)
    named = dict(line.split("=", 1) for line in text(done).splitlines()[8:])
    assert {name: named.pop(name) for name in ENVIRONMENT} == dict(ENVIRONMENT)
    kept = {name for name, value in named.items() if value} - {"HOSTNAME", "PWD", "SHLVL"}
    assert kept == ({"IMAGE_VARIABLE"} if client == "docker" else set())


def test_only_the_folders_of_the_trial_are_written_to_and_they_are_the_collectors(client, image):
    script = """
    for folder in /workspace /home/agent /tmp; do echo $folder > $folder/file; done
    umask 077; echo x > closed; mkdir -p deep/er; echo x > deep/er/file; chmod 000 deep/er
    for folder in / /everybodys /bin /etc /usr /run /var /home /dev /sys /proc/sys/kernel; do
        echo x > $folder/file && echo $folder
    done 2>/dev/null
    """

    async def written():
        async with opened(client, image) as (sandbox, folders):
            done = await sandbox.run(folders, Command(argv=("/bin/sh", "-c", script)))
            places = (folders.workspace, folders.home, folders.tmp)
            read = [(place / "file").read_text().strip() for place in places]
            assert (folders.workspace / "closed").read_text() == "x\n"
            await sandbox.remove(folders)
            return done, read, folders.workspace.parent.exists()

    done, read, is_left = asyncio.run(written())

    assert text(done) == ""
    assert read == ["/workspace", "/home/agent", "/tmp"]
    assert not is_left


def test_without_the_network_nothing_is_reached(client, image):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        port = listener.getsockname()[1]

        done = run(client, image, f"nc -w 1 127.0.0.1 {port} < /dev/null; tail -n +3 /proc/net/dev")

        with pytest.raises(BlockingIOError):
            listener.accept()
    assert [line.split(":")[0].strip() for line in text(done).splitlines()] == ["lo"]


@pytest.mark.parametrize("client", ["podman"], indirect=True)  # our daemon has no bridge
def test_with_the_network_a_container_has_one_of_its_own(client, image):
    done = run(client, image, "tail -n +3 /proc/net/dev", network=True)

    names = {line.split(":")[0].strip() for line in text(done).splitlines()}
    assert len(names - {"lo"}) == 1


def test_what_takes_too_long_is_gone_with_all_that_it_began(client, image):
    seconds = f"31.4{os.getpid()}"
    script = f"sleep {seconds} & (setsid sleep {seconds} &); trap '' TERM; sleep {seconds}; wait"

    async def timed_out():
        async with opened(client, image) as (sandbox, folders):
            command = Command(argv=("/bin/sh", "-c", script), timeout_s=3.0)
            task = asyncio.create_task(sandbox.run(folders, command))
            await until(lambda: len(sleepers(seconds)) == 3)
            done = await task
            return done, sleepers(seconds)

    done, processes = asyncio.run(timed_out())

    assert (done.ended_by, done.exit_code) == ("time", None)
    assert processes == []


def test_what_ends_leaves_no_process_behind(client, image):
    seconds = f"27.1{os.getpid()}"

    async def ended():
        async with opened(client, image) as (sandbox, folders):
            script = f"(setsid sleep {seconds} &); read _"
            command = Command(argv=("/bin/sh", "-c", f"{script}; echo done"))
            done = await sandbox.run(folders, command)
            return done, sleepers(seconds)

    done, processes = asyncio.run(ended())

    assert text(done) == "done\n"
    assert processes == []


def test_a_command_that_nobody_waits_for_is_gone(client, image):
    seconds = "17.3205"

    async def cancelled():
        async with opened(client, image) as (sandbox, folders):
            task = asyncio.create_task(sandbox.run(folders, Command(argv=("/bin/sleep", seconds))))
            await until(lambda: sleepers(seconds))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return sleepers(seconds)

    assert asyncio.run(cancelled()) == []


def test_a_command_is_held_to_its_limits(client, image):
    script = """
    ulimit -t; ulimit -n; ulimit -c
    (tail /dev/zero; echo "tail $?") 2>/dev/null
    dd if=/dev/zero of=/workspace/large bs=1M count=9 2>/dev/null; wc -c < /workspace/large
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 2 & done
    """

    done = run(
        client, image, script, memory_mb=50, processes=10, file_mb=3, cpu_seconds=11, cores=1
    )

    assert text(done).splitlines() == ["11", "1024", "0", "tail 137", "3000000"]
    assert b"can't fork" in done.stderr.data


@pytest.mark.parametrize(
    ("script", "limits", "ended_by"),
    [
        ("yes", {"output_mb": 1}, "output"),
        ("while :; do cat /bin/busybox >> all; done", {"workspace_mb": 5}, "workspace"),
        ("dd if=/dev/zero of=one bs=1M count=5 & wait $!", {"file_mb": 2}, "workspace"),
        ("while :; do :; done", {"cpu_seconds": 1}, "time"),
    ],
)
def test_what_takes_too_much_is_ended(client, image, script, limits, ended_by):
    assert run(client, image, script, **limits).ended_by == ended_by


def test_an_image_that_is_not_here_is_not_pulled(client):
    name = "localhost/benchlake-test-nowhere:1"

    with pytest.raises(SandboxError, match=f"{client} has no image {name}") as caught:
        run(client, name, "true")

    assert caught.value.advice == f"{client} pull {name}"
    profile = profile_of(client, name)
    holds = asyncio.run(probe(profile, Engine(client, name, profile.limits)))
    assert (holds.version, holds.advice) == ("", f"{client} pull {name}")


def test_a_tag_that_is_moved_changes_nothing(client, image):
    async def moved():
        async with opened(client, image) as (sandbox, folders):
            containers.make_image(client, file="etc/moved")
            command = Command(argv=("/bin/ls", "/etc"))
            before = await sandbox.run(folders, command)
        async with opened(client, image) as (sandbox, folders):
            return before, await sandbox.run(folders, command)

    before, after = asyncio.run(moved())

    assert "moved" not in text(before)
    assert "moved" in text(after)


def test_an_engine_that_fails_is_told_from_a_command_that_does(client, image):
    for complaint in ("Error: I failed", "docker: I failed"):
        assert run(client, image, f"echo {complaint} >&2; exit 125").exit_code == 125
    assert run(client, image, "nothing-of-this-name").exit_code == 127

    async def failed():
        async with opened(client, image) as (sandbox, folders):
            containers.remove_images(client)
            await sandbox.run(folders, Command(argv=("/bin/true",)))

    with pytest.raises(SandboxError, match=r"(?i)no such image|image not known"):
        asyncio.run(failed())


def test_containers_of_a_helper_that_died_are_removed_at_the_next_start_and_no_others(
    client, image
):
    seconds = f"160.1{os.getpid()}"
    other = containers.sleeping(client, image, label=f"{LABEL}=mnt:[1]/nowhere")

    async def left_and_removed():
        profile = profile_of(client, image)
        dead = await Sandbox.open(profile, Engine(client, image, profile.limits))
        task = asyncio.create_task(
            dead.run(await dead.folders(), Command(argv=("/bin/sleep", seconds)))
        )
        await until(lambda: sleepers(seconds))
        os.kill(dead.pid, signal.SIGKILL)
        with pytest.raises(SandboxError):
            await task
        await dead.aclose()
        assert sleepers(seconds)
        async with opened(client, image) as (alive, folders):
            assert not sleepers(seconds)
            task = asyncio.create_task(alive.run(folders, Command(argv=("/bin/sleep", "9"))))
            await until(lambda: len(containers.ours(client)) == 2)
            async with opened(client, image):
                assert len(containers.ours(client)) == 2
            return await task

    try:
        assert asyncio.run(left_and_removed()).exit_code == 0
        assert [number[:12] for number in containers.ours(client)] == [other[:12]]
    finally:
        containers.lines(client, "kill", other)
        containers.lines(client, "rm", "--force", other)


@pytest.mark.parametrize("client", ["podman"], indirect=True)  # docker has no such switch
def test_podman_ends_a_container_that_nobody_watches(client, image, monkeypatch, tmp_path):
    monkeypatch.setattr(engine_module, "LATE_S", 1)
    folders = Folders(*(tmp_path / name for name in ("workspace", "home", "tmp")))
    for folder in (folders.workspace, folders.home, folders.tmp):
        folder.mkdir()
    engine = Engine(client, image, profile_of(client, image).limits)
    command = Command(argv=("/bin/sleep", "22.3606"), timeout_s=1.5)
    argv = engine.argv(command, folders, f"benchlake-test-{os.getpid()}")
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as process:
        asyncio.run(until(lambda: sleepers("22.3606")))
        process.kill()
    began = time.monotonic()

    asyncio.run(until(lambda: not sleepers("22.3606")))

    assert time.monotonic() - began < 10
    asyncio.run(until(lambda: not containers.ours(client)))


def test_a_client_that_is_not_installed_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    profile = profile_of("podman", "a:1")

    holds = asyncio.run(probe(profile, Engine("podman", "a:1", profile.limits)))

    assert holds.problem == "podman is not installed"
    assert holds.advice == "apt-get install podman runc"

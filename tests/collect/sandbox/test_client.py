"""What the collector gets from a sandbox: answers, limits, output, copies."""

import asyncio
import hashlib
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import ClassVar

import pytest

from collect.sandbox import Command, Folders, SandboxError
from collect.sandbox.client import SLOTS_A_CORE
from collect.sandbox.engine import Engine as Containers
from collect.sandbox.trees import usage
from tests.support.cage import (
    LIMITS,
    Cage,
    helper_with,
    require_bwrap,
    temporary_folder,
)

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")


@pytest.fixture(scope="module")
def cage():
    require_bwrap()
    cage = Cage()
    yield cage
    cage.close()


@LINUX
@pytest.mark.parametrize(
    ("script", "code", "number"),
    [
        ("exit 0", 0, None),
        ("exit 1", 1, None),
        ("exit 126", 126, None),
        ("exit 255", 255, None),
        ("no-such-command", 127, None),
        ("kill -TERM $$", None, signal.SIGTERM),
        ("kill -9 $$", None, signal.SIGKILL),
        ("sh -c 'kill -SEGV $$'", None, signal.SIGSEGV),
    ],
)
def test_how_a_command_ended(cage, script, code, number):
    done = cage.sh(script)

    assert (done.exit_code, done.signal, done.ended_by) == (code, number, "exit")


@LINUX
def test_a_program_that_is_not_there_is_no_fault_of_ours(cage):
    done = cage.run("no-such-program")

    assert done.exit_code == 127
    assert b"no-such-program" in done.stderr.data


@LINUX
@pytest.mark.parametrize("argv", [("echo", "a\0b"), ("echo", "x" * 3_000_000)])
def test_a_command_that_no_system_takes_is_answered(cage, argv):
    done = cage.run(*argv)

    assert (done.exit_code, done.ended_by) == (126, "exit")
    assert done.stderr.data.startswith(b"sandbox: ")
    assert cage.sh("true").exit_code == 0


@LINUX
def test_what_bwrap_refuses_is_an_error_of_ours(cage):
    folders = cage.folders()
    cage.call(cage.sandbox.remove(folders))

    with pytest.raises(SandboxError):
        cage.sh("true", folders)


@LINUX
def test_its_etc_has_what_programs_look_for_and_nothing_else(cage):
    script = "ls /etc; getent hosts localhost; id -un; ls /etc/ssl; stat -c %a /etc /etc/hosts"

    words = cage.sh(script).stdout.data.decode().split()
    linked = cage.sh("/sbin/ldconfig -p | wc -l")

    made = {"passwd", "group", "hosts", "resolv.conf", "nsswitch.conf"}
    assert made <= set(words)
    assert not {"shadow", "hostname", "ssh", "environment", "machine-id"} & set(words)
    assert {"::1", "localhost", "agent", "755", "644"} <= set(words)
    assert "private" not in words
    assert int(linked.stdout.data.split()[0]) > 10


@LINUX
def test_a_network_has_the_names_of_this_machine(cage):
    script = "cat /etc/hosts /etc/resolv.conf"

    alone, open_to_all = cage.sh(script), cage.sh(script, network=True)

    there = [Path("/etc", name) for name in ("hosts", "resolv.conf")]
    assert open_to_all.stdout.data == b"".join(one.read_bytes() for one in there if one.exists())
    assert alone.stdout.data == b"127.0.0.1 localhost\n::1 localhost\n"


@LINUX
def test_odd_words_arrive_as_they_are(cage):
    words = ("a b", "'\"$HOME", "", "-x", "--", "日本", "\udcff", "a\nb")

    done = cage.run("/bin/sh", "-c", 'printf "%s\\0" "$@"', "sh", *words)

    assert done.stdout.data == b"".join(os.fsencode(word) + b"\0" for word in words)


@LINUX
def test_input_of_any_size_arrives(cage):
    data = os.urandom(3_000_000)

    done = cage.run("sha256sum", stdin=data)
    nothing = cage.sh("cat; echo $?")

    assert done.stdout.data.split()[0].decode() == hashlib.sha256(data).hexdigest()
    assert nothing.stdout.data == b"0\n"


@LINUX
def test_the_folders_of_a_trial_stay_between_commands_and_are_its_own(cage):
    mine, other = cage.folders(), cage.folders()

    cage.sh("echo 1 > f; echo 2 > ~/f; echo 3 > /tmp/f", mine)
    again = cage.sh("cat f ~/f /tmp/f", mine)
    elsewhere = cage.sh("ls . ~ /tmp | grep f", other)

    assert again.stdout.data == b"1\n2\n3\n"
    assert elsewhere.stdout.data == b""


@LINUX
@pytest.mark.parametrize(
    ("script", "sizes"),
    [
        ("head -c 100000 /dev/zero", (65_536, 0)),
        ("head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2", (32_768, 32_768)),
        ("head -c 100000 /dev/zero; head -c 1000 /dev/zero >&2", (64_536, 1_000)),
        ("head -c 1000 /dev/zero; head -c 100000 /dev/zero >&2", (1_000, 64_536)),
        ("head -c 60000 /dev/zero; head -c 5536 /dev/zero >&2", (60_000, 5_536)),
        ("head -c 65536 /dev/zero", (65_536, 0)),
    ],
)
def test_two_streams_share_what_is_kept(cage, script, sizes):
    done = cage.sh(script)

    assert (len(done.stdout.data), len(done.stderr.data)) == sizes
    for stream in (done.stdout, done.stderr):
        assert (stream.cut_at is None) == (stream.produced == len(stream.data))


@LINUX
def test_the_beginning_and_the_end_are_kept(cage):
    done = cage.sh("seq 100000")
    whole = "".join(f"{number}\n" for number in range(1, 100_001)).encode()
    cut = done.stdout.cut_at

    assert done.stdout.produced == len(whole)
    assert cut == 49_152
    assert done.stdout.data[:cut] == whole[:cut]
    assert done.stdout.data[cut:] == whole[-16_384:]


@LINUX
def test_what_is_bound_is_read_and_never_written(cage):
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        here = Path(name)
        here.chmod(0o755)
        (here / "file").write_text("bound")
        script = "cat /here/deep/file; echo x > /here/deep/file; echo x > /here/new; pwd"
        done = cage.sh(script, binds=((str(here), "/here/deep"),))
        assert [path.name for path in here.iterdir()] == ["file"]
        assert (here / "file").read_text() == "bound"

    assert done.stdout.data == b"bound/workspace\n"
    assert done.stderr.data.count(b"Read-only file system") == 2


@LINUX
def test_a_workspace_may_be_read_only(cage):
    folders = cage.folders()
    cage.sh("echo left > file", folders)

    done = cage.sh(
        "cat file; echo x > file; rm -f file; for d in ~ /tmp; do echo x > $d/f && cat $d/f; done",
        folders,
        is_workspace_read_only=True,
    )
    again = cage.sh("echo x > file && cat file", folders)

    assert (done.stdout.data, again.stdout.data) == (b"left\nx\nx\n", b"x\n")


@LINUX
def test_the_first_process_is_ended_by_none_that_it_began(cage):
    script = "echo $$; sh -c 'kill -9 1; kill -9 $PPID'; sleep 60 & echo there; exit 3"

    done = cage.sh(script, is_first_process=True)
    other = cage.sh(script)

    assert (done.stdout.data, done.exit_code, done.ended_by) == (b"1\nthere\n", 3, "exit")
    assert other.signal == signal.SIGKILL


@pytest.mark.parametrize(
    "facts",
    [{"is_workspace_read_only": True}, {"is_first_process": True}],
)
def test_a_container_engine_refuses_what_it_cannot_do(facts, tmp_path):
    engine = Containers("docker", "image:1", LIMITS)
    folders = Folders(tmp_path, tmp_path, tmp_path)

    with pytest.raises(SandboxError, match="docker makes no workspace read-only") as caught:
        engine.argv(Command(argv=("true",), **facts), folders, "name")

    assert "bwrap" in caught.value.advice


@LINUX
def test_more_commands_than_slots_wait_for_their_turn(cage):
    n_slots = SLOTS_A_CORE * os.cpu_count()

    async def all_of():
        folders = await cage.sandbox.folders()
        command = Command(argv=("sleep", "0.3"), timeout_s=5)
        runs = (cage.sandbox.run(folders, command) for _ in range(2 * n_slots + 1))
        return await asyncio.gather(*runs)

    began = time.monotonic()
    results = cage.call(all_of())

    assert {done.exit_code for done in results} == {0}
    assert time.monotonic() - began > 0.85, "three rounds"


@LINUX
def test_what_a_command_took_is_told(cage):
    done = cage.python(
        "import time\n"
        "data = bytearray(b'x') * 50_000_000\n"
        "end = time.process_time() + 0.2\n"
        "while time.process_time() < end: pass\n"
        "time.sleep(0.2)\n"
    )

    assert done.wall_ms > 350
    assert 180 <= done.cpu_ms < 2_000
    assert 50_000_000 < done.peak_memory_bytes < 150_000_000
    assert (done.oom_kills, done.throttled_ms) == (None, None)


@LINUX
def test_processor_time_of_a_command_that_is_ended_is_known(cage):
    done = cage.sh("sh -c 'while :; do :; done' & while :; do :; done", timeout_s=0.6)

    assert done.ended_by == "time"
    assert done.cpu_ms > 100


TORN = """
import os

read, torn = os.read, []

def torn_once(handle, size):
    data = read(handle, size)
    if b"child-pid" in data and not torn:
        torn.append(True)
        return data[:12]
    return data

os.read = torn_once
"""


@LINUX
def test_bwrap_that_is_killed_while_it_says_something_ends_no_other_command():
    require_bwrap()
    with helper_with(TORN):
        cage = Cage()
    try:
        with pytest.raises(SandboxError, match="without telling how"):
            cage.sh("true")
        assert cage.sh("true").exit_code == 0
    finally:
        cage.close()


BOTH_RUN = """
import contextlib, os
from collect.sandbox import processes, running

running.STEP_S = 0.0  # a machine so busy that no count of files ends at its first look

def both_run():
    names = []
    for pid in processes.children(os.getpid()):  # one may clear away what a dead helper left
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as file:
            names.append(file.read())
    return names.count("bwrap\\n") > 1
"""


@LINUX
@pytest.mark.parametrize(
    ("what", "ended_by", "hungry", "modest"),
    [
        (
            "is_short_of_memory = lambda: {}",
            "memory",
            "data = bytearray(b'x') * 80_000_000; wait(30)",
            "wait(3)",
        ),
        (
            "Disk.of = classmethod(lambda *_: processes.Disk(10**12, 10**6, {}))",
            "workspace",
            "open('f', 'wb').write(bytes(15_000_000)); wait(30)",
            "open('f', 'wb').write(bytes(1_000_000)); wait(3)",
        ),
    ],
    ids=["memory", "disk"],
)
def test_a_machine_that_runs_short_ends_the_hungriest(what, ended_by, hungry, modest):
    """Only how short it is is made up."""
    require_bwrap()
    with temporary_folder() as folder:
        full = folder / "full"
        is_full = f"(os.path.exists({str(full)!r}) and both_run())"
        with helper_with(f"{BOTH_RUN}\nhelper.{what.format(is_full)}"):
            cage = Cage()
        try:
            results = cage.call(hungriest(cage.sandbox, hungry, modest, full))
        finally:
            cage.close()

    assert [done.ended_by for done in results] == ["exit", ended_by]
    assert results[0].exit_code == 0


WAIT = """
import time
def wait(seconds):
    open("ready", "w").close()
    time.sleep(seconds)
"""


async def hungriest(sandbox, hungry, modest, full):
    """Return what came of both commands, of which one was too much once both had taken theirs."""
    works, places = [], []
    for script in (modest, hungry):
        folders = await sandbox.folders()
        places.append(folders.workspace / "ready")
        command = Command(argv=("/usr/bin/python3", "-c", f"{WAIT}{script}"))
        works.append(asyncio.create_task(sandbox.run(folders, command)))
    while not all(place.exists() for place in places):  # noqa: ASYNC110 - nobody tells of a file
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.5)
    full.touch()
    await works[1]
    full.unlink()
    return await asyncio.gather(*works)


class Engine:
    """A container engine as the helper knows it: a command, and one that ends what it left."""

    name = "engine"
    limits = LIMITS
    environment: ClassVar = {"PATH": "/usr/bin:/bin", "MARK": "set"}
    is_engine = True

    def prepare(self):
        pass

    def refusal(self, name, completed):
        return ""

    def argv(self, command, folders, name):
        return ["/bin/sh", "-c", f'cd {folders.workspace} && exec "$@"', name, *command.argv]

    def ending(self, name):
        return ["/bin/sh", "-c", f"sleep 0.3; echo {name} > {self.mark}"]

    def version(self):
        return "1"


@LINUX
def test_an_engine_ends_what_it_started(tmp_path):
    engine = Engine()
    engine.mark = tmp_path / "ended"
    cage = Cage(backend=engine)
    try:
        done = cage.sh("echo $MARK; exit 3")
        assert (done.exit_code, done.stdout.data, done.ended_by) == (3, b"set\n", "exit")
        assert not engine.mark.exists()

        late = cage.sh("echo begun; sleep 60", timeout_s=0.2)
    finally:
        cage.close()

    assert (late.ended_by, late.stdout.data, late.cpu_ms) == ("time", b"begun\n", None)
    assert engine.mark.read_text().startswith("benchlake-"), "it was waited for"


@LINUX
def test_an_engine_that_never_ends_what_it_started_is_an_error():
    class Hanging(Engine):
        def ending(self, name):
            return ["/bin/sleep", "60"]

    with helper_with("import collect.sandbox.running as running\nrunning.ENDING_S = 0.3"):
        cage = Cage(backend=Hanging())
    try:
        with pytest.raises(SandboxError, match="/bin/sh ended without telling how"):
            cage.sh("echo mine >&2; sleep 60", timeout_s=0.2)
        assert cage.sh("exit 3").exit_code == 3
    finally:
        cage.close()


# ---- counting


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def test_counting_goes_on_in_steps_and_closes_what_it_opened(source):
    for number in range(1_000):
        (source / str(number)).write_bytes(b"x")
    before = len([*Path("/dev/fd").iterdir()])
    counting = usage([str(source)], opens=False)

    first = next(counting).files
    assert first < 1_000
    counting.close()

    assert len([*Path("/dev/fd").iterdir()]) == before
    last = [*usage([str(source), str(source / "missing")], opens=False)][-1]
    assert (last.files, last.is_too_deep) == (1_000, False)
    assert last.size >= 1_000 * 512 or Path("/dev/shm") in source.parents

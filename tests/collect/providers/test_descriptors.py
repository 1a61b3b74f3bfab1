"""What a program is started with: closed, full and broken streams, blocked signals, any locale."""

import errno
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.forks import forks
from tests.support.kept_run import Kept, assert_fits_together, collect

pytestmark = pytest.mark.peers

COLLECT = [sys.executable, "-P", "-m", "collect"]
RUN = [*COLLECT, "run", "--suite", "s", "--run-profile", "p", "--run-id", "r"]


@pytest.fixture
def three(project, endpoint):
    """A project of three cases whose answers are not there at once."""
    for name in ("one", "two", "three"):
        project.case(name)
    project.model(base_url=endpoint.base_url)
    return project


def closed():
    for descriptor in range(3):
        os.close(descriptor)


def broken():
    """Leave both streams without a reader, and no news of a child that has ended."""
    reading, writing = os.pipe()
    os.close(reading)
    for descriptor in (1, 2):
        os.dup2(writing, descriptor)
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM))


def full():
    device = os.open("/dev/full", os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(device, descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


@pytest.mark.parametrize("start", [closed, broken, full])
def test_a_run_goes_on_to_its_end_whatever_it_was_started_with(three, start):
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    running = subprocess.Popen(RUN, cwd=three.root, preexec_fn=start, env=env)  # noqa: PLW1509
    try:
        assert running.wait(60) == 0, "the code is the run's own"
    finally:
        running.kill()

    kept = assert_fits_together(three.root / "runs" / "r")
    assert len(kept.results()) == 3
    assert all(row["success"] for row in kept.results())
    for path in (three.root / "runs" / "r").glob("*.json*"):
        assert b"of 3" not in path.read_bytes(), "the screen went into a file"


DATA = {
    "collect": (("schema",), ("schema", "case"), ("validate", "--json"), ("plan",), ("--help",)),
    "analyze": (
        ("runs", "--json"), ("summarize", "latest", "--json"), ("show", "latest", "one"),
        ("sql", "from trials"), ("sql", "from trials", "--format", "csv"), ("views",),
        ("flaky", "--json"), ("--help",),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project with one run, for all that only reads it."""
    from tests.support.endpoint import Endpoint
    from tests.support.project import Project

    root = tmp_path_factory.mktemp("made")
    server, project = Endpoint(), Project(root)
    project.case("one")
    project.model(base_url=server.base_url)
    done = collect(root, "run", "--suite", "s", "--run-profile", "p", "--run-id", "r")
    server.close()
    assert done.returncode == 0, done.stderr
    return root


def words_of(command, arguments):
    options = ("--suite", "s", "--run-profile", "p") if arguments == ("plan",) else ()
    return [command, *arguments, *options]


@pytest.mark.parametrize("command", DATA)
def test_data_that_cannot_be_written_is_one_sentence_and_code_1(made, command):
    for arguments in DATA[command]:
        words = words_of(command, arguments)[1:]
        done = forks(command).run(made, words, dict(os.environ), out="/dev/full")

        assert done.returncode == 1, arguments
        assert done.stderr == "error: standard output: No space left on device\n", arguments


@pytest.mark.parametrize("words", [["collect", "schema", "case"], ["analyze", "runs", "--json"]])
def test_nobody_reads_to_the_end_and_nothing_is_said_of_it(made, words):
    """As `| head -1` ends: the code is the command's own, since what it found out still holds."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-P", "-m", *words],
        cwd=made, stdout=writing, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(writing)

    assert (done.returncode, done.stderr) == (0, b"")


def test_a_producer_without_an_end_stops_when_its_reader_has_gone(tmp_path):
    """In this process: the stream counts what it drops."""
    from schemas.io.standard_streams import MAX_UNREAD_BYTES, Outlet

    reading, writing = os.pipe()
    os.close(reading)
    with Outlet(writing, is_data=True) as outlet:
        assert outlet.write(b"x" * 1_000) == 1_000
        with pytest.raises(BrokenPipeError):
            outlet.write(b"x" * MAX_UNREAD_BYTES)
        assert outlet.write(b"x") == 1, "said once; the rest of the buffer is dropped"
    with Outlet(writing, is_data=False) as screen:
        assert screen.write(b"x" * (2 * MAX_UNREAD_BYTES)) == 2 * MAX_UNREAD_BYTES
    os.close(writing)


def test_a_reader_who_is_slow_gets_everything_and_a_screen_is_not_waited_for():
    from schemas.io.standard_streams import Outlet

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 65_536)
    with Outlet(writing, is_data=False) as screen:
        assert screen.write(b"lost") == 4
        assert screen.trouble is None
    pid = os.fork()
    if pid == 0:
        os.read(reading, 1_000_000)
        os._exit(0)
    with Outlet(writing, is_data=True) as outlet:
        assert outlet.write(b"kept") == 4
    os.waitpid(pid, 0)
    os.close(reading)
    os.close(writing)


def test_json_is_json_in_a_locale_without_its_letters(made):
    env = os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "100"}
    query = "select 'Grüße → 😀' as text"

    done = subprocess.run(
        [sys.executable, "-P", "-m", "analyze", "sql", query, "--format", "json"],
        cwd=made, env=env, capture_output=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert json.loads(done.stdout) == [{"text": "Grüße → 😀"}]


def test_a_disk_that_refused_once_ends_the_run_although_it_took_the_rest(
    project, endpoint, answers, tmp_path, monkeypatch
):
    """What a sync in between could not write may be lost, whatever the last one says."""
    from schemas.errors import CollectError
    from tests.collect.execute.test_run import Quiet, run_in
    from tests.support.forked_mirror import no_mirrors

    real, refused = os.fsync, []

    def fsync(handle):
        if "results.jsonl" in str(Path(f"/proc/self/fd/{handle}").readlink()) and not refused:
            refused.append(handle)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(handle)

    def script(wire, request):
        wire.sleep(0.1)
        wire.stream(answers.stream_of("ok"))

    endpoint.script = script
    monkeypatch.setattr("collect.execute.pipeline.SYNC_INTERVAL_S", 0.3)
    monkeypatch.setattr(os, "fsync", fsync)
    for number in range(12):
        project.case(f"c{number:02d}")
    project.model(base_url=endpoint.base_url)

    with pytest.raises(CollectError, match=r"results\.jsonl cannot be written: Input/output error"):
        run_in(tmp_path / "runs" / "r", project.load(), Quiet(), mirrors=no_mirrors)

    assert refused
    assert 0 < len(Kept(tmp_path / "runs" / "r").results()) < 12


def test_a_long_id_of_a_prompt_becomes_a_name_that_fits(project):
    """The list keeps its ids; a case_id is a file's name and at most 128 characters."""
    ids = ["x" * 129, "x" * 128, "x" * 300 + "a", "x" * 300 + "b"]
    for name in ("l", "k"):
        project.prompts(f"{name}.json", [{"id": one, "name": one, "prompt": "p"} for one in ids])
    project.suite(prompt_lists=["l.json", "k.json"])

    done = collect(project.root, "plan", "--suite", "s", "--run-profile", "p", "--json")

    assert done.returncode == 0, done.stderr
    trials = json.loads(done.stdout)["trials"]
    assert len({trial["case_id"] for trial in trials}) == 2 * len(ids)
    assert max(len(trial["case_id"]) for trial in trials) == 128
    assert trials[1]["case_id"] == "x" * 128, "one that fits stays"


@pytest.mark.parametrize(
    "words", [("validate",), ("init",), ("run", "--resume"), ("plan", "--runs")]
)
def test_a_path_that_cannot_be_one_is_a_sentence(project, words):
    project.case()
    options = ("--suite", "s", "--run-profile", "p") if words[0] == "plan" else ()

    done = collect(project.root, *words, "x" * 5_000, *options)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "File name too long" in done.stderr

"""The run folder under attack: races, kills and full disks leave one owner and whole lines."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from collect.run_folder.log import LOCK_FILE, RunLog, is_begun, resume_command
from schemas.errors import CollectError, NotResumable, RunBusy, RunExists
from schemas.io.files import Tail
from schemas.run.config import PlannedTrial, load_run_config
from schemas.run.trace import frames, frames_end
from tests.support.paths import ROOT
from tests.support.run_rows import config, event, inventory, planned, result
from tests.support.synced_files import Synced

NOW = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


def begin(log, n_trials=3):
    return log.begin(config(), inventory(), (), (planned(number) for number in range(n_trials)))


def lines(run_dir):
    return [orjson.loads(line) for line in (run_dir / "results.jsonl").read_bytes().splitlines()]


@pytest.fixture
def run_dir(tmp_path):
    """The folder of a run that began and was closed."""
    log = RunLog.create(tmp_path / "runs" / "r")
    begin(log)
    log.close()
    return tmp_path / "runs" / "r"


def python(code, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


def test_what_is_known_is_written_before_the_first_request_and_the_plan_last(tmp_path):
    run_dir = tmp_path / "runs" / "r"
    log = RunLog.create(run_dir)
    seen = []

    def plan():
        for number in range(5):
            seen.append({path.name for path in run_dir.iterdir() if path.name[0] != "."})
            yield planned(number)

    assert not is_begun(run_dir)
    assert log.begin(config(), inventory(), (), plan()) == 5
    log.close()

    assert is_begun(run_dir)
    assert seen[0] == {
        "config.json", "inventory.json", "cases.jsonl.zst", "artifacts", "results.jsonl",
    }  # fmt: skip
    stored = [
        PlannedTrial.model_validate_json(line)
        for line in (run_dir / "plan.jsonl").read_bytes().splitlines()
    ]
    assert stored == [planned(number) for number in range(5)]
    assert load_run_config(run_dir / "config.json") == config()
    assert not list(run_dir.glob(".tmp-*"))


def test_a_new_run_is_on_the_disk_by_its_name_before_it_asks(tmp_path, monkeypatch):
    runs, run_dir = tmp_path / "runs", tmp_path / "runs" / "r"
    synced = Synced(monkeypatch)

    log = RunLog.create(run_dir)
    begin(log)

    for name in ("config.json", "inventory.json", "cases.jsonl.zst", "plan.jsonl"):
        path = run_dir / name
        assert min(synced.whole(path)) < synced.named(path) < max(synced.holding(run_dir, name))
    assert synced.named(run_dir / "plan.jsonl") < max(synced.holding(runs, "r"))
    assert synced.holding(run_dir, "results.jsonl")
    log.close()


def test_a_plan_that_breaks_off_leaves_a_run_that_never_began(tmp_path):
    run_dir = tmp_path / "runs" / "r"
    log = RunLog.create(run_dir)

    def plan():
        yield planned(0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        log.begin(config(), inventory(), (), plan())
    log.close()

    assert not is_begun(run_dir)
    assert not list(run_dir.glob(".tmp-*"))
    with pytest.raises(NotResumable, match="ended before its plan was written"):
        RunLog.reopen(run_dir)


def test_a_run_that_is_not_there_cannot_be_resumed(tmp_path):
    with pytest.raises(NotResumable, match="no such run") as error:
        RunLog.reopen(tmp_path / "runs" / "never")

    assert error.value.exit_code == 2
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("there", ["folder", "empty folder", "file"])
def test_a_run_id_that_is_taken_is_refused(tmp_path, there):
    run_dir = tmp_path / "r"
    if there == "file":
        run_dir.write_text("")
    else:
        run_dir.mkdir()
    if there == "folder":
        (run_dir / "config.json").write_text("{}")

    with pytest.raises(RunExists):
        RunLog.create(run_dir)


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "runs").write_text("a file")

    with pytest.raises(CollectError, match=r"cannot be made: .*; choose another --runs"):
        RunLog.create(tmp_path / "runs" / "r")


def test_lines_and_traces_are_appended_where_they_say(run_dir):
    log = RunLog.reopen(run_dir)
    paths = [log.append_artifact("m", frame) for frame in (b"one", b"three", b"x")]
    log.append(result(artifact_path=paths[0]))
    log.append(event())
    assert len(lines(run_dir)) == 2, "readable before anything is closed"
    log.sync()
    log.close()

    assert paths == [f"artifacts/m.jsonl.zst#{offset}" for offset in (0, 3, 8)]
    assert (run_dir / "artifacts" / "m.jsonl.zst").read_bytes() == b"onethreex"
    assert [line["record_type"] for line in lines(run_dir)] == ["result", "event"]


def test_a_reopened_run_goes_on_where_it_ended(run_dir):
    log = RunLog.reopen(run_dir)
    frame = log_frame()
    first = log.append_artifact("m", frame)
    log.append(result(artifact_path=first))
    log.close()

    log = RunLog.reopen(run_dir)
    assert log.repaired == ()
    second = log.append_artifact("m", frame)
    log.append(result(repetition=2, artifact_path=second))
    log.close()

    assert second == f"artifacts/m.jsonl.zst#{len(frame)}"
    assert [line["repetition"] for line in lines(run_dir)] == [1, 2]


def log_frame():
    import zstandard

    return zstandard.ZstdCompressor().compress(b'{"trace": []}\n')


def test_a_second_collector_of_the_same_run_is_refused_by_name(run_dir):
    log = RunLog.reopen(run_dir)

    with pytest.raises(RunBusy, match=rf"another collector works on .*r \(process {os.getpid()}\)"):
        RunLog.reopen(run_dir)
    log.close()

    RunLog.reopen(run_dir).close()


def test_a_refused_collector_touches_nothing(run_dir):
    log = RunLog.reopen(run_dir)
    with (run_dir / "results.jsonl").open("ab") as file:
        file.write(b'{"torn')
    before = {path: path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}

    with pytest.raises(RunBusy):
        RunLog.reopen(run_dir)

    assert {path: path.read_bytes() for path in run_dir.rglob("*") if path.is_file()} == before
    log.close()


HOLD = """
import sys
from pathlib import Path
from collect.run_folder.log import RunLog
log = RunLog.reopen(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_the_lock_ends_with_a_killed_process(run_dir):
    holder = python(HOLD, run_dir)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(RunBusy, match=rf"\(process {holder.pid}\)"):
        RunLog.reopen(run_dir)

    holder.send_signal(signal.SIGKILL)
    holder.communicate()

    RunLog.reopen(run_dir).close()


def test_the_lock_is_not_inherited_by_a_child_process(run_dir):
    log = RunLog.reopen(run_dir)
    child = python("import sys; print('up', flush=True); sys.stdin.read()", close_fds=False)
    assert child.stdout.readline() == "up\n"
    log.close()

    RunLog.reopen(run_dir).close()
    child.communicate()


RACE = """
import sys, time
from datetime import datetime, UTC
from pathlib import Path
from collect.run_folder.log import RunLog
from schemas.errors import BenchError
kind, runs = sys.argv[1], Path(sys.argv[2])
now = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
print("ready", flush=True)
start = float(sys.stdin.readline())
while time.time() < start: pass
made = []
for number in range(20):
    try:
        if kind == "same":
            log = RunLog.create(runs / f"r{number}")
        elif kind == "free":
            log = RunLog.create_free(runs, now)
        else:
            log = RunLog.reopen(runs / "r")
        made.append(log.run_dir.name)
    except BenchError as exc:
        made.append(type(exc).__name__)
print(*made, flush=True)
sys.stdin.readline()
"""


def race(kind, runs, n_racers=3):
    racers = [python(RACE, kind, runs) for _ in range(n_racers)]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    start = time.time() + 0.2
    for racer in racers:
        racer.stdin.write(f"{start}\n")
        racer.stdin.flush()
    made = [racer.stdout.readline().split() for racer in racers]
    for racer in racers:
        racer.communicate("\n")
    return made


def test_of_processes_that_race_for_a_run_id_one_gets_it(tmp_path):
    made = race("same", tmp_path / "runs")

    for number, one in enumerate(zip(*made, strict=True)):
        assert sorted(one) == ["RunExists", "RunExists", f"r{number}"]


def test_processes_that_start_in_the_same_second_get_a_folder_each(tmp_path):
    made = [name for names in race("free", tmp_path / "runs") for name in names]

    stem = "20260203_040506"
    expected = {stem, *(f"{stem}_{number}" for number in range(2, 61))}
    assert len(made) == 60
    assert set(made) == expected
    assert {path.name for path in (tmp_path / "runs").iterdir()} == expected


def test_of_processes_that_race_to_resume_a_run_one_does(run_dir):
    made = race("resume", run_dir.parent)

    winners = [names for names in made if "r" in names]
    assert len(winners) == 1, made
    assert {name for names in made for name in names} == {"r", "RunBusy"}


def test_an_automatic_name_passes_over_names_in_use(tmp_path):
    log = RunLog.create_free(tmp_path, NOW, lambda run_id: run_id == "20260203_040506")
    log.close()

    assert log.run_dir.name == "20260203_040506_2"


@pytest.mark.parametrize(
    ("runs", "command"),
    [
        ("runs", "collect run --resume r"),
        ("else where", "collect run --resume r --runs 'else where'"),
        ("/tmp/runs", "collect run --resume r --runs /tmp/runs"),
    ],
)
def test_the_command_that_goes_on_names_the_folder_unless_it_is_the_usual_one(
    tmp_path, monkeypatch, runs, command
):
    monkeypatch.chdir(tmp_path)

    assert resume_command(Path(runs) / "r") == command
    assert resume_command(Path(runs).absolute() / "r") == command


def n_open_files():
    return sum(1 for _ in Path("/dev/fd").iterdir())


def test_a_closed_log_keeps_no_file_open(run_dir):
    before = n_open_files()
    log = RunLog.create(run_dir.with_name("other"))
    log.append(event())
    log.append_artifact("m", log_frame())
    log.append_artifact("n", log_frame())
    assert n_open_files() == before + 4

    log.close()

    assert n_open_files() == before


def test_sync_costs_nothing_when_nothing_was_appended(run_dir, monkeypatch):
    synced = []
    real = os.fsync
    log = RunLog.reopen(run_dir)
    log.append_artifact("m", b"frame")
    log.append(result())
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(name_of(handle)), real(handle)))

    log.sync()
    assert synced == ["m.jsonl.zst", "artifacts", "results.jsonl"], "traces first, folder once"
    log.sync()
    assert len(synced) == 3
    log.append_artifact("m", b"frame")
    log.sync()
    assert synced[3:] == ["m.jsonl.zst"]
    log.close()


def name_of(handle):
    return Path(f"/dev/fd/{handle}").readlink().name


def test_syncing_from_another_thread_while_lines_are_appended_and_the_log_closes(run_dir):
    log = RunLog.reopen(run_dir)
    troubles = []
    ended = threading.Event()

    def keep_syncing():
        try:
            while not ended.is_set():
                log.sync()
        except Exception as exc:  # noqa: BLE001 - shown by the assertion
            troubles.append(exc)

    thread = threading.Thread(target=keep_syncing)
    thread.start()
    for number in range(300):
        log.append_artifact(f"m{number % 40}", b"frame")
        log.append(result(repetition=number + 1))
    log.close()
    time.sleep(0.05)
    ended.set()
    thread.join()

    assert troubles == []
    assert [line["repetition"] for line in lines(run_dir)] == list(range(1, 301))


@pytest.fixture
def limited():
    """Set the largest size of a file, which stands for a full disk; taken back at the end."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_that_may_not_grow_ends_with_a_sentence_and_whole_lines(run_dir, limited):
    log = RunLog.reopen(run_dir)
    size = len(result().model_dump_json()) + 1
    limited(2 * size + size // 2)

    log.append(result())
    log.append(result())
    with pytest.raises(
        CollectError, match=r"results.jsonl cannot be written: File too large"
    ) as no:
        log.append(result())
    with pytest.raises(CollectError):
        log.append(event(detail="x" * size))
    assert str(no.value).endswith(f"make room, then `{resume_command(run_dir)}` completes it")
    limited(resource.RLIM_INFINITY)
    log.append(event())
    log.close()

    assert [line["record_type"] for line in lines(run_dir)] == ["result", "result", "event"]


def test_an_entry_that_cannot_be_taken_back_at_once_is_taken_back_before_the_next(
    tmp_path, monkeypatch, limited
):
    tail = Tail(tmp_path, "log", "advice")
    tail.append(b"whole\n")
    limited(8)
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", broken)
        with pytest.raises(CollectError):
            tail.append(b"torn\n")
    assert (tmp_path / "log").read_bytes() == b"whole\nto"
    limited(resource.RLIM_INFINITY)

    assert tail.append(b"next\n") == 6
    tail.close()

    assert (tmp_path / "log").read_bytes() == b"whole\nnext\n"


def broken(*_):
    raise OSError(5, "Input/output error")


@pytest.mark.parametrize("room", [0, 100, 1_500, 3_000, 6_000])
def test_a_disk_that_is_full_before_the_first_request_leaves_no_half_file(tmp_path, limited, room):
    run_dir = tmp_path / "runs" / "r"
    log = RunLog.create(run_dir)
    limited(room)

    with pytest.raises(CollectError, match="cannot be written: File too large; nothing was asked"):
        begin(log, n_trials=1_000)
    limited(resource.RLIM_INFINITY)
    log.close()

    assert not is_begun(run_dir)
    assert not list(run_dir.glob(".tmp-*"))


@pytest.fixture
def small_disk(tmp_path):
    """A real file system of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    done = None
    if shutil.which("mount") and hasattr(os, "geteuid") and os.geteuid() == 0:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done is None or done.returncode != 0:
        pytest.skip("needs root and leave to mount a tmpfs: a real full disk cannot be made here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(log):
    for number in range(100_000):
        path = log.append_artifact("m", log_frame())
        log.append(result(repetition=number + 1, artifact_path=path))


def test_a_real_full_disk_tears_nothing_and_the_run_goes_on_when_there_is_room(small_disk):
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 100_000)
    run_dir = small_disk / "runs" / "r"
    log = RunLog.create(run_dir)
    begin(log)
    with pytest.raises(CollectError, match="No space left on device") as no:
        fill(log)
    written = len(lines(run_dir))
    with pytest.raises(CollectError, match="No space left"):
        log.write_text("note.txt", "x" * 100_000)
    assert resume_command(run_dir) in str(no.value)
    log.close()
    assert written > 10
    assert [line["repetition"] for line in lines(run_dir)] == list(range(1, written + 1))

    ballast.unlink()
    log = RunLog.reopen(run_dir)
    log.append(result(repetition=written + 1))
    log.close()
    assert len(lines(run_dir)) == written + 1


def test_a_full_disk_does_not_keep_a_run_from_being_locked(small_disk):
    run_dir = small_disk / "runs" / "r"
    log = RunLog.create(run_dir)
    begin(log)
    log.close()
    (run_dir / LOCK_FILE).unlink()
    try:
        (small_disk / "ballast").write_bytes(b"x" * 300_000)
    except OSError:
        pass
    else:
        pytest.fail("the disk was to be full")

    log = RunLog.reopen(run_dir)
    with pytest.raises(RunBusy, match=r"another collector works on \S+;"):
        RunLog.reopen(run_dir)
    log.close()


APPEND = """
import sys
from pathlib import Path
from collect.run_folder.log import RunLog
from tests.support.run_rows import result
import zstandard
log = RunLog.reopen(Path(sys.argv[1]))
frame = zstandard.ZstdCompressor().compress(b'{"trace": []}' * 50)
print("writing", flush=True)
for number in range(10_000_000):
    log.append(result(repetition=number + 1, artifact_path=log.append_artifact("m", frame)))
"""


@pytest.mark.peers
def test_killed_again_and_again_every_line_is_whole_and_has_its_trace(run_dir):
    for number in range(4):
        writer = python(APPEND, run_dir, cwd=ROOT, env=with_tests())
        assert writer.stdout.readline() == "writing\n"
        time.sleep(0.01 + 0.04 * number)
        writer.kill()
        writer.communicate()

        RunLog.reopen(run_dir).close()
        found = lines(run_dir)
        with (run_dir / "artifacts" / "m.jsonl.zst").open("rb") as file:
            begins = [f"artifacts/m.jsonl.zst#{begin}" for begin, _ in frames(file)]
            assert frames_end(file, 0) == file.seek(0, os.SEEK_END), "whole traces alone"
        places = [line["artifact_path"] for line in found]
        assert set(places) <= set(begins)
        assert len(set(places)) == len(places)
        assert len(begins) - len(places) <= number + 1, "one trace a kill has no line"


def with_tests():
    return os.environ | {"PYTHONPATH": str(ROOT)}

"""Keeping the lake complete: in bulk, one by one, beside collectors, killed at any moment."""

import collections
import contextlib
import errno
import fcntl
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analyze.lake.labels import label
from analyze.lake.sync import has_changes, problems_of, sync
from analyze.query.ensure_synced import prune_runs, sync_changes
from schemas.errors import AnalyzeError, ConfigError, RunNotFound
from schemas.lake import Lake, lake_of, live_files
from schemas.lake.mirror import load_group
from schemas.lake.transaction import lock_run
from tests.schemas.lake.test_imported import RECORD
from tests.schemas.lake.test_mirror import event_line, plan_line, result_line
from tests.support.analyze_cli import call
from tests.support.disk import mounted_disk
from tests.support.mirrored import mirror_run
from tests.support.paths import GOLDEN
from tests.support.run_rows import config

CONFIG = config(started_at_ms=1_764_547_199_000, n_planned=9).model_dump(mode="json")

OLD_LAKE = GOLDEN / "lake_layout_1" / "runs"


@pytest.fixture
def runs_dir(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder


def make(runs_dir, name, lines=None, started_at_ms=1_764_547_199_000):
    folder = runs_dir / name
    folder.mkdir()
    config = CONFIG | {"run_id": name, "started_at_ms": started_at_ms}
    (folder / "config.json").write_text(json.dumps(config))
    plan = [json.loads(plan_line(number)) | {"run_id": name} for number in range(9)]
    (folder / "plan.jsonl").write_text("".join(json.dumps(line) + "\n" for line in plan))
    append(folder, *(lines if lines is not None else [result_line(n) for n in range(3)]))
    return folder


def append(folder, *lines, end="\n"):
    with (folder / "results.jsonl").open("a") as log:
        log.writelines(line.replace('"r-1"', f'"{folder.name}"') + end for line in lines)


def import_folder(runs_dir, name, *records):
    folder = runs_dir / name
    folder.mkdir(exist_ok=True)
    with (folder / "results.jsonl").open("a") as log:
        log.writelines(json.dumps(record) + "\n" for record in records)
    return folder


def rows(runs_dir, table="results"):
    files = live_files(lake_of(runs_dir), table)
    return [row for path in files for row in pq.ParquetFile(path).read().to_pylist()]


def held(runs_dir, table="results"):
    """Return how many rows the lake has of each line of each run."""
    return collections.Counter((row["run_id"], row["record_no"]) for row in rows(runs_dir, table))


def written(runs_dir):
    """Return every line of every log, once."""
    return collections.Counter(
        (log.parent.name, number)
        for log in runs_dir.glob("*/results.jsonl")
        for number, line in enumerate(log.read_bytes().split(b"\n")[:-1], 1)
    )


def assert_lake_is_the_logs(runs_dir):
    assert held(runs_dir) == held(runs_dir, "outputs") == written(runs_dir)
    for table, n_rows in (("plans", 9), ("runs", 1)):
        counts = collections.Counter(row["run_id"] for row in rows(runs_dir, table))
        assert set(counts.values()) <= {n_rows}, table


def test_many_runs_come_in_together_and_only_once(runs_dir):
    for number in range(60):
        make(runs_dir, f"r{number}", started_at_ms=1_764_547_199_000 + number * 86_400_000)
    steps = []

    first = sync(runs_dir, progress=lambda done, total: steps.append((done, total)))

    assert (first.n_runs, first.n_rows, first.problems) == (60, 180, ())
    assert steps[-1][0] == steps[-1][1] > 0
    assert_lake_is_the_logs(runs_dir)
    assert len(live_files(lake_of(runs_dir), "results")) <= 3, "one a month"
    assert not has_changes(runs_dir)
    assert sync(runs_dir).n_runs == 0
    assert_lake_is_the_logs(runs_dir)


def test_what_grew_is_brought_in_and_what_did_not_is_left_alone(runs_dir):
    grown = make(runs_dir, "a", [result_line(0)])
    make(runs_dir, "b")
    sync(runs_dir)
    append(grown, event_line("e"), result_line(0), result_line(1))

    assert has_changes(runs_dir)
    synced = sync(runs_dir)

    assert (synced.n_runs, synced.n_rows) == (1, 3)
    mine = sorted((r["record_no"], r["supersedes"]) for r in rows(runs_dir) if r["run_id"] == "a")
    assert mine == [(1, None), (3, 1), (4, None)]


def test_a_run_that_a_collector_mirrors_is_skipped_silently(runs_dir):
    busy = make(runs_dir, "a")
    make(runs_dir, "b")
    with (busy / ".mirror.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        synced = sync(runs_dir)
        assert (synced.n_runs, synced.problems) == (1, ())
        assert has_changes(runs_dir)

    assert sync(runs_dir).n_runs == 1
    assert_lake_is_the_logs(runs_dir)


def test_a_run_that_is_in_the_lake_already_is_only_noted(runs_dir):
    folder = make(runs_dir, "a", [result_line(0), "{bad", result_line(1)])
    mirror_run(folder, lake_of(runs_dir))

    synced = sync(runs_dir)

    assert synced.n_runs == 0
    assert len(rows(runs_dir)) == 2
    (problem,) = problems_of(runs_dir, folder)
    assert f"{folder / 'results.jsonl'}:2: not a JSON object" in problem


def test_problems_are_told_every_time(runs_dir):
    folder = make(runs_dir, "a", [result_line(0), "{bad", result_line(1)])
    torn = result_line(2, run_id="a")
    append(folder, torn[:40], end="")

    first = sync(runs_dir)

    log = folder / "results.jsonl"
    assert [problem.startswith(f"{log}:2: ") for problem in first.problems] == [True, False]
    assert "torn line or not mirrored yet (40 bytes)" in first.problems[1]
    assert problems_of(runs_dir, folder) == list(first.problems)
    assert sync(runs_dir).problems == ()
    assert sync(runs_dir).n_with_problems == 1

    append(folder, torn[40:], '{"record_type": "note"}')
    assert "record_type 'note'" in sync(runs_dir).problems[0]
    assert [one.split(": ")[0] for one in problems_of(runs_dir, folder)] == [f"{log}:2", f"{log}:5"]


def test_a_log_that_became_shorter_keeps_the_rows_of_the_lake(runs_dir):
    folder = make(runs_dir, "a")
    sync(runs_dir)
    log = folder / "results.jsonl"
    log.write_bytes(log.read_bytes()[:-10])

    lines = []
    sync_changes(runs_dir, lines.append)

    said = "10 bytes shorter than what the lake holds"
    assert len(rows(runs_dir)) == 3
    assert said in problems_of(runs_dir, folder)[0]
    assert [said in line for line in lines] == [True]
    assert sync(runs_dir).known_problems == tuple(problems_of(runs_dir, folder))


def test_the_command_lists_what_is_known_to_be_wrong_however_often_it_is_asked(runs_dir):
    make(runs_dir, "a", [result_line(0), "{bad"])
    make(runs_dir, "b", ["{worse", result_line(1)])

    first, second = (call("sync", "--runs", runs_dir).out.splitlines() for _ in range(2))

    assert second[0] == "nothing new"
    assert first[1:] == second[1:]
    assert first[1] == "2 runs with problems"
    assert [line.partition(": ")[0].removeprefix(f"  {runs_dir}/") for line in second[2:]] == [
        "a/results.jsonl:2",
        "b/results.jsonl:1",
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("config.json", "{", "config.json"), ("config.json", "{}", "`run_id`"),
        ("config.json", json.dumps(CONFIG | {"run_id": "x", "schema_version": 9}), "version 9"),
        ("config.json", json.dumps(CONFIG | {"run_id": "other"}), "another run"),
        ("plan.jsonl", "{}\n", "`run_id`"), ("plan.jsonl", None, "is missing"),
        ("config.json", None, "config.json"),
    ],
)  # fmt: skip
def test_a_broken_folder_is_named_and_stops_no_other(runs_dir, name, text, said):
    broken = make(runs_dir, "x")
    (broken / name).unlink()
    if text is not None:
        (broken / name).write_text(text)
    make(runs_dir, "y")

    (problem,) = sync(runs_dir).problems

    assert said in problem
    assert str(broken) in problem
    assert {run_id for run_id, _ in held(runs_dir)} == {"y"}
    assert problems_of(runs_dir, broken) == [problem]


def test_what_is_no_run_is_passed_over(runs_dir, tmp_path):
    (runs_dir / "notes").mkdir()
    (runs_dir / "file").write_text("x")
    make(runs_dir, ".hidden")
    (runs_dir / "foreign").mkdir()
    (runs_dir / "foreign" / "results.jsonl").write_text('{"score": 1}\n')
    make(tmp_path, "linked")
    (runs_dir / "linked").symlink_to(tmp_path / "linked")
    (runs_dir / "dangling").symlink_to(tmp_path / "nowhere")

    synced = sync(runs_dir)

    assert (synced.n_runs, synced.problems) == (1, ())
    assert {run_id for run_id, _ in held(runs_dir)} == {"linked"}
    assert not has_changes(runs_dir)


def test_a_folder_of_runs_that_is_not_there_has_no_news(tmp_path):
    assert not has_changes(tmp_path / "nowhere")


def test_an_imported_folder_is_read_again_when_it_grew_and_never_touched(runs_dir):
    folder = import_folder(runs_dir, "old", RECORD, RECORD, {"record_type": "event", "event": "e"})
    (folder / "config.json").write_text('{"run_id": "old", "timeout_s": 30}')
    make(runs_dir, "ours")
    sync(runs_dir)
    label(runs_dir, "old", ["baseline"])
    import_folder(runs_dir, "old", RECORD | {"prompt_id": "P9"})
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    synced = sync(runs_dir)

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert (synced.n_runs, synced.problems) == (1, ())
    mine = [row for row in rows(runs_dir) if row["run_id"] == "old"]
    assert sorted((r["case_id"], r["repetition"], r["record_no"]) for r in mine) == [
        ("p0--hello", 1, 1), ("p0--hello", 2, 2), ("p9--hello", 1, 4),
    ]  # fmt: skip
    assert len([row for row in rows(runs_dir, "plans") if row["run_id"] == "old"]) == 3
    newest = max(
        (row for row in rows(runs_dir, "runs") if row["run_id"] == "old"),
        key=lambda row: row["recorded_at_ms"],
    )
    assert (newest["labels"], newest["n_planned"]) == (["baseline"], 3)
    assert held(runs_dir)["ours", 1] == 1


def test_a_pruned_run_stays_out_until_it_is_named(runs_dir):
    for name in ("a", "b"):
        make(runs_dir, name)
    sync(runs_dir)

    assert prune_runs(runs_dir, ["a"]) > 0

    assert not has_changes(runs_dir)
    append(runs_dir / "a", result_line(3))
    assert sync(runs_dir).n_runs == 0
    assert {run_id for run_id, _ in held(runs_dir)} == {"b"}
    assert sync(runs_dir, only=[runs_dir / "a"]).n_runs == 1
    assert_lake_is_the_logs(runs_dir)


def test_a_run_whose_folder_is_gone_stays_and_can_be_labelled(runs_dir):
    folder = make(runs_dir, "b")
    sync(runs_dir)
    shutil.rmtree(folder)

    sync(runs_dir)
    label(runs_dir, "b", ["kept"])

    assert len(rows(runs_dir)) == 3
    assert sorted(tuple(row["labels"]) for row in rows(runs_dir, "runs")) == [(), ("kept",)]


def test_labels_stand_in_the_config_beside_what_else_is_there(runs_dir):
    folder = make(runs_dir, "a")
    config = json.loads((folder / "config.json").read_text()) | {"later": [1.5, "é"]}
    (folder / "config.json").write_text(json.dumps(config))
    sync(runs_dir)

    label(runs_dir, "a", ["nightly", "é"])
    label(runs_dir, "a", ["release"])

    assert json.loads((folder / "config.json").read_text()) == config | {"labels": ["release"]}
    sync(runs_dir)
    newest = max(rows(runs_dir, "runs"), key=lambda row: row["recorded_at_ms"])
    assert newest["labels"] == ["release"]


@pytest.mark.parametrize("name", ["", "  ", "a\x1b[31m", "a\nb", "a\u202eb"])
def test_labels_that_say_nothing_or_trick_a_terminal_are_refused(runs_dir, name):
    make(runs_dir, "a")

    with pytest.raises(ConfigError, match="a label has at least one character"):
        label(runs_dir, "a", ["fine", name])


def test_a_run_that_nobody_knows_has_no_labels(runs_dir):
    with pytest.raises(RunNotFound):
        label(runs_dir, "nobody", ["x"])


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_lake_that_cannot_be_written_is_read_as_it_is(runs_dir, monkeypatch, number):
    make(runs_dir, "a")

    def refuse(*_):
        raise OSError(number, "no writing here")

    monkeypatch.setattr("schemas.lake.locked", refuse)

    synced = sync(runs_dir)
    assert synced.read_only
    assert "no writing here" in synced.problems[0]


def test_a_run_folder_that_cannot_be_written_is_brought_in(runs_dir, monkeypatch):
    folder = make(runs_dir, "a")
    real = os.open

    def refuse(path, *args, **kwargs):
        if str(path).endswith(".mirror.lock"):
            raise OSError(errno.EROFS, "read-only", str(path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)

    assert sync(runs_dir).n_runs == 1
    assert not (folder / ".mirror.lock").exists()


def test_a_full_disk_is_an_error_and_leaves_nothing(runs_dir, monkeypatch):
    make(runs_dir, "a")

    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr("schemas.lake.writer.sync_path", full)
        with pytest.raises(OSError, match="full"):
            sync(runs_dir)
    assert rows(runs_dir) == []

    sync(runs_dir)
    assert_lake_is_the_logs(runs_dir)


def test_files_that_somebody_deleted_come_back(runs_dir):
    for name in ("a", "b"):
        make(runs_dir, name)
    sync(runs_dir)
    live_files(lake_of(runs_dir), "results")[0].unlink()

    sync(runs_dir)

    assert_lake_is_the_logs(runs_dir)


COMMAND = [sys.executable, "-P", "-c"]
BRING = """
import sys
from pathlib import Path
import analyze.lake.load_runs as bring
bring.MAX_GROUP_RUNS, bring.MIN_PARALLEL_BYTES = {group}, {much}
from analyze.lake.sync import sync
sync(Path(sys.argv[1]))
"""


def in_process(runs_dir, group=7, much=10**12):
    code = BRING.format(group=group, much=much)
    return subprocess.Popen([*COMMAND, code, str(runs_dir)], stderr=subprocess.PIPE)


@pytest.mark.peers
def test_two_processes_bring_in_what_one_would(runs_dir):
    for number in range(30):
        make(runs_dir, f"r{number}")

    process = in_process(runs_dir, group=4, much=0)
    _, said = process.communicate(timeout=120)

    assert (process.returncode, said) == (0, b"")
    assert_lake_is_the_logs(runs_dir)


def test_two_syncs_at_once_double_nothing(runs_dir):
    for number in range(40):
        make(runs_dir, f"r{number}")

    processes = [in_process(runs_dir) for _ in range(2)]
    for process in processes:
        assert process.communicate(timeout=120)[1] == b""

    assert_lake_is_the_logs(runs_dir)


@pytest.mark.peers
@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_moment_the_next_sync_completes_it(runs_dir, seed):
    rng = random.Random(seed)
    for number in range(36):
        make(runs_dir, f"r{number}")

    for _ in range(2):
        process = in_process(runs_dir, group=3)
        lake = lake_of(runs_dir)
        deadline = time.monotonic() + 30
        while not (lake / "manifest").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 1.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    sync(runs_dir)

    assert_lake_is_the_logs(runs_dir)


def test_a_collector_that_writes_meanwhile_loses_nothing(runs_dir):
    folder = make(runs_dir, "a", [])
    for number in range(10):
        make(runs_dir, f"r{number}")

    def collect():
        for number in range(120):
            append(folder, result_line(number % 9))
            time.sleep(0.005)

    writer = threading.Thread(target=collect)
    writer.start()
    while writer.is_alive():
        sync(runs_dir)
    sync(runs_dir)

    assert_lake_is_the_logs(runs_dir)
    mine = sorted((r["record_no"], r["supersedes"]) for r in rows(runs_dir) if r["run_id"] == "a")
    assert mine == [(number, None if number <= 9 else number - 9) for number in range(1, 121)]


def test_rows_of_an_older_layout_are_made_again_while_their_log_is_there(tmp_path):
    runs_dir = tmp_path / "runs"
    shutil.copytree(OLD_LAKE, runs_dir)
    before = held(runs_dir)

    synced = sync(runs_dir)

    assert synced.problems == ()
    assert held(runs_dir) == before
    assert all("supersedes" in row for row in rows(runs_dir))
    assert len(rows(runs_dir, "runs")) == 1


def test_rows_of_an_older_layout_stay_when_their_log_is_gone(tmp_path):
    runs_dir = tmp_path / "runs"
    shutil.copytree(OLD_LAKE, runs_dir)
    before = held(runs_dir)
    (folder,) = (path for path in runs_dir.iterdir() if path.name != "lake")
    (folder / "results.jsonl").unlink()

    sync(runs_dir)

    assert held(runs_dir) == before
    assert "shorter than what the lake holds" in problems_of(runs_dir, folder)[0]


@pytest.fixture
def shared_dir():
    """A folder of runs that a user without rights may write."""
    if os.geteuid() != 0:
        pytest.skip("needs root, which can be another user for a while")
    with tempfile.TemporaryDirectory() as folder:
        runs_dir = Path(folder) / "runs"
        runs_dir.mkdir()
        Path(folder).chmod(0o755)
        runs_dir.chmod(0o777)
        yield runs_dir


@contextlib.contextmanager
def as_nobody():
    os.setegid(65_534)
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def test_a_run_folder_of_another_user_is_named_and_stops_no_other(shared_dir):
    make(shared_dir, "ours")
    secret = make(shared_dir, "secret")
    secret.chmod(0o700)

    with as_nobody():
        synced = sync(shared_dir)
        assert not has_changes(shared_dir)
    secret.chmod(0o755)
    with as_nobody():
        again = sync(shared_dir)

    assert (synced.n_runs, synced.read_only) == (1, False)
    assert "secret" in synced.problems[0]
    assert "cannot be read" in synced.problems[0]
    assert (again.n_runs, again.problems) == (1, ())
    assert_lake_is_the_logs(shared_dir)


def test_the_lock_of_another_user_s_collector_holds_for_all(shared_dir):
    held_by_collector = lock_run(make(shared_dir, "a"), lake_of(shared_dir))
    try:
        with as_nobody():
            synced = sync(shared_dir)
    finally:
        os.close(held_by_collector)

    assert (synced.n_runs, synced.problems, synced.read_only) == (0, (), False)


def test_a_folder_of_runs_that_cannot_be_read_is_an_error_of_ours(shared_dir):
    shared_dir.chmod(0o700)

    with as_nobody(), pytest.raises(AnalyzeError, match="Permission denied"):
        sync_changes(shared_dir, print)


@pytest.mark.parametrize("name", ["config.json", "plan.jsonl"])
def test_a_refused_folder_comes_in_once_it_is_put_right(runs_dir, name):
    folder = make(runs_dir, "x", [result_line(0), "no JSON"])
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:-20])
    sync(runs_dir)
    assert not has_changes(runs_dir)

    (folder / name).write_bytes(whole)

    assert has_changes(runs_dir)
    assert sync(runs_dir).n_runs == 1
    assert ["results.jsonl:2" in problem for problem in problems_of(runs_dir, folder)] == [True]


def test_bad_lines_stay_known_through_a_refusal_and_another_name_of_the_folder(
    runs_dir, monkeypatch
):
    folder = make(runs_dir, "x", [result_line(0), "no JSON"])
    sync(runs_dir)
    config = (folder / "config.json").read_bytes()
    append(folder, result_line(1))
    (folder / "config.json").write_text("{")
    sync(runs_dir)
    (folder / "config.json").write_bytes(config)
    monkeypatch.chdir(runs_dir.parent)

    sync(Path("runs"))
    append(folder, result_line(2))
    sync(runs_dir)

    assert ["results.jsonl:2" in problem for problem in problems_of(runs_dir, folder)] == [True]
    assert len(rows(runs_dir)) == 3


def test_a_long_run_s_folder_under_another_name_does_not_touch_the_run(runs_dir, monkeypatch):
    monkeypatch.setattr(load_group, "MAX_SHARED_BYTES", 100)  # every log is a long one
    folder = make(runs_dir, "a")
    sync(runs_dir)
    shutil.copytree(folder, runs_dir / "copy")
    append(folder, result_line(3))
    sync(runs_dir)
    with (runs_dir / "copy" / "results.jsonl").open("a") as log:
        log.writelines(result_line(n).replace('"r-1"', '"a"') + "\n" for n in (4, 5))

    synced = sync(runs_dir)

    assert (synced.n_runs, len(synced.problems)) == (0, 1)
    assert "another run, `a`" in synced.problems[0]
    assert sorted(row["case_id"] for row in rows(runs_dir)) == ["c0", "c1", "c2", "c3"]


def test_a_folder_that_became_another_run_is_named(runs_dir):
    folder = make(runs_dir, "a")
    other = make(runs_dir, "other", [result_line(n) for n in range(5)])
    sync(runs_dir)
    shutil.rmtree(folder)
    shutil.copytree(other, folder)

    assert "another run, `other`" in sync(runs_dir).problems[0]
    assert collections.Counter(row["run_id"] for row in rows(runs_dir)) == {"a": 3, "other": 5}


def test_a_second_name_of_a_run_beside_it_counts_once(runs_dir):
    make(runs_dir, "ours")
    import_folder(runs_dir, "old", RECORD)
    (runs_dir / "0-first").symlink_to("ours")
    (runs_dir / "latest").symlink_to("old")
    (runs_dir / "loop").symlink_to("loop")

    synced = sync(runs_dir)

    assert (synced.n_runs, synced.problems) == (2, ())
    assert {run_id for run_id, _ in held(runs_dir)} == {"ours", "old"}
    assert not has_changes(runs_dir)


def test_a_folder_whose_name_is_no_text_is_named_and_stops_no_other(runs_dir):
    make(runs_dir, "y")
    folder = Path(os.fsdecode(os.fsencode(runs_dir) + b"/caf\xe9"))
    folder.mkdir()
    (folder / "results.jsonl").write_text(json.dumps(RECORD) + "\n")

    synced = sync(runs_dir)

    assert (synced.n_runs, len(synced.problems)) == (1, 1)
    assert "caf\\xe9: its name is not UTF-8" in synced.problems[0]


def test_a_folder_that_goes_away_meanwhile_stops_no_other(runs_dir):
    make(runs_dir, "there")

    brought = Lake(lake_of(runs_dir)).append_run("gone", "there")

    assert (brought.n_runs, brought.problems, set(brought.mirrored)) == (1, [], {"there"})


def test_a_config_that_is_a_number_is_named(runs_dir):
    folder = make(runs_dir, "x")
    (folder / "plan.jsonl").unlink()
    (folder / "config.json").write_text("5")
    make(runs_dir, "y")

    synced = sync(runs_dir)

    assert (synced.n_runs, len(synced.problems)) == (1, 1)
    assert "config.json" in synced.problems[0]


def test_a_clock_that_was_set_wrong_loses_nothing(runs_dir):
    make(runs_dir, "first", started_at_ms=0)
    make(runs_dir, "last", started_at_ms=2**53)
    import_folder(runs_dir, "old", RECORD | {"started_at_ms": 2**53, "ended_at_ms": 2**53})

    assert sync(runs_dir).n_runs == 3
    assert held(runs_dir) == written(runs_dir)


@pytest.mark.parametrize("table", ["plans", "runs", "outputs", "events"])
def test_deleted_files_of_an_imported_run_come_back(runs_dir, table):
    import_folder(runs_dir, "old", RECORD, {"record_type": "event", "event": "e"})
    sync(runs_dir)
    for path in live_files(lake_of(runs_dir), table):
        path.unlink()

    sync(runs_dir)

    for name in ("plans", "outputs", "events", "results"):
        assert len(rows(runs_dir, name)) == 1, name
    assert len(rows(runs_dir, "runs")) in {1, 2}, "the newest counts"


def test_imported_runs_that_lie_in_one_file_are_all_read_anew_at_once_and_ours_never(runs_dir):
    ours = [make(runs_dir, f"r{number}") for number in range(3)]
    for number in range(3):
        import_folder(runs_dir, f"old{number}", RECORD)
    sync(runs_dir)
    for folder in ours:
        lines = [result_line(number).replace('"r-1"', f'"{folder.name}"') for number in range(5, 9)]
        (folder / "results.jsonl").write_text("\n".join(lines) + "\n")
    for number in range(3):
        import_folder(runs_dir, f"old{number}", RECORD)
    before = {run: n for run, n in held(runs_dir).items() if run[0].startswith("r")}

    synced = sync(runs_dir)

    assert synced.n_runs == 3
    assert [one.partition(":")[0] for one in synced.problems] == [
        str(folder / "results.jsonl") for folder in ours
    ]
    assert "`collect restore r0 --runs " in synced.problems[0]
    assert {run: n for run, n in held(runs_dir).items() if run[0].startswith("r")} == before
    assert not has_changes(runs_dir)


def test_pruning_an_imported_run_writes_nothing_into_its_folder(runs_dir):
    folder = import_folder(runs_dir, "old", RECORD)
    sync(runs_dir)

    prune_runs(runs_dir, ["old"])

    assert [path.name for path in folder.iterdir()] == ["results.jsonl"]


def test_a_pruned_run_that_is_resumed_comes_in_whole(runs_dir):
    folder = make(runs_dir, "a")
    sync(runs_dir)
    prune_runs(runs_dir, ["a"])
    append(folder, result_line(3))
    mirror_run(folder, lake_of(runs_dir))
    append(folder, result_line(4))  # and the process that mirrors it is killed

    assert has_changes(runs_dir)
    sync(runs_dir)

    assert_lake_is_the_logs(runs_dir)
    assert not has_changes(runs_dir)


def test_an_imported_folder_with_the_longest_name_may_grow(runs_dir):
    import_folder(runs_dir, "x" * 250, RECORD)
    sync(runs_dir)
    import_folder(runs_dir, "x" * 250, RECORD)

    assert sync(runs_dir).n_rows == 2


def test_text_whose_results_appear_this_moment_is_not_taken_for_cut_off(runs_dir):
    make(runs_dir, "a")
    sync(runs_dir)
    lake = lake_of(runs_dir)
    (results,) = live_files(lake, "results")
    hidden = results.rename(runs_dir.parent / "hidden")
    opened = Lake(lake)
    opened.refresh()
    hidden.rename(results)

    opened.drop_cut_off()

    assert_lake_is_the_logs(runs_dir)


def test_a_run_may_be_called_as_files_of_a_sync_are(runs_dir):
    folder = make(runs_dir, "sync-1")
    lake = lake_of(runs_dir)
    mirror_run(folder, lake)
    collector = lock_run(folder, lake)
    try:
        live_files(lake, "results")[0].unlink()  # as if it were about to be sealed
        sync(runs_dir)
    finally:
        os.close(collector)

    assert len(rows(runs_dir, "outputs")) == 3


def test_many_runs_come_in_where_few_files_may_be_open(runs_dir):
    for number in range(60):
        make(runs_dir, f"r{number}", [result_line(0)])
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    n_open = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (n_open + 50, before[1]))
    try:
        synced = sync(runs_dir)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    assert (synced.n_runs, synced.problems) == (60, ())
    assert_lake_is_the_logs(runs_dir)


def test_a_run_whose_file_in_the_lake_was_damaged_comes_back(runs_dir):
    folder = make(runs_dir, "a")
    mirror_run(folder, lake_of(runs_dir))
    sync(runs_dir)
    append(folder, result_line(3))
    damaged = live_files(lake_of(runs_dir), "results")[0]
    damaged.write_bytes(damaged.read_bytes()[:100])

    (said,) = sync(runs_dir).set_aside

    assert f"{damaged}: is no Parquet file" in said
    assert not damaged.exists()
    assert_lake_is_the_logs(runs_dir)


def test_a_full_disk_takes_nothing_of_a_run_that_is_read_anew(tmp_path):
    with mounted_disk(tmp_path / "disk") as disk:
        runs_dir = disk.folder / "runs"
        runs_dir.mkdir()
        import_folder(runs_dir, "old", RECORD)
        sync(runs_dir)
        import_folder(runs_dir, "old", RECORD)
        with contextlib.suppress(OSError), (disk.folder / "rest").open("wb", buffering=0) as rest:
            while rest.write(bytes(4_096)):
                pass

        with pytest.raises(OSError, match="No space left"):
            sync(runs_dir)
        assert len(rows(runs_dir)) == 1
        disk.resize("9m")
        sync(runs_dir)

        assert len(rows(runs_dir)) == len(rows(runs_dir, "outputs")) == 2

"""Keeping the lake complete: in bulk, one by one, beside collectors, killed at any moment."""

import collections
import errno
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analyze import sync as sync_module
from analyze.sync import has_news, label, problems_of, prune, sync
from schemas.errors import ConfigError, RunNotFound
from schemas.lake_files import lake_of, live_files
from schemas.mirror import mirror_run
from tests.schemas.test_imported import RECORD
from tests.schemas.test_mirror import event_line, plan_line, result_line

CONFIG = {
    "schema_version": 1, "run_id": "", "started_at_ms": 1_764_547_199_000, "benchlake_version": "0",
    "suite_id": "s", "suite_title": "S", "suite_path": "s.yaml", "run_profile_id": "p",
    "run_profile_path": "p.yaml", "execution_policy": {}, "models": [], "case_settings": {},
    "n_planned": 9, "config_files": {}, "allowed_hosts": [], "warnings": [],
}  # fmt: skip

GOLDEN = Path(__file__).parents[1] / "golden" / "lake_layout_1" / "runs"


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
    told = []

    first = sync(runs_dir, progress=lambda done, total: told.append((done, total)))

    assert (first.n_runs, first.n_rows, first.problems) == (60, 180, ())
    assert told[-1][0] == told[-1][1] > 0
    assert_lake_is_the_logs(runs_dir)
    assert len(live_files(lake_of(runs_dir), "results")) <= 3, "one a month"
    assert not has_news(runs_dir)
    assert sync(runs_dir).n_runs == 0
    assert_lake_is_the_logs(runs_dir)


def test_what_grew_is_brought_in_and_what_did_not_is_left_alone(runs_dir):
    grown = make(runs_dir, "a", [result_line(0)])
    make(runs_dir, "b")
    sync(runs_dir)
    append(grown, event_line("e"), result_line(0), result_line(1))

    assert has_news(runs_dir)
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
        assert has_news(runs_dir)

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
    assert "the last 40 bytes" in first.problems[1]
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

    sync(runs_dir)

    assert len(rows(runs_dir)) == 3
    assert "10 bytes shorter than what the lake holds" in problems_of(runs_dir, folder)[0]


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
    assert not has_news(runs_dir)


def test_a_folder_of_runs_that_is_not_there_has_no_news(tmp_path):
    assert not has_news(tmp_path / "nowhere")


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

    assert prune(runs_dir, ["a"]) > 0

    assert not has_news(runs_dir)
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

    monkeypatch.setattr(sync_module, "one_sync", refuse)

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
        patch.setattr("schemas.bulk.sync_path", full)
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
import analyze.sync.bring as bring
bring.GROUP_RUNS, bring.MUCH_BYTES = {group}, {much}
from analyze.sync import sync
sync(Path(sys.argv[1]))
"""


def in_process(runs_dir, group=7, much=10**12):
    code = BRING.format(group=group, much=much)
    return subprocess.Popen([*COMMAND, code, str(runs_dir)], stderr=subprocess.PIPE)


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


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_moment_the_next_sync_completes_it(runs_dir, seed):
    rng = random.Random(seed)
    for number in range(60):
        make(runs_dir, f"r{number}")

    for _ in range(2):
        process = in_process(runs_dir, group=5)
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
    shutil.copytree(GOLDEN, runs_dir)
    before = held(runs_dir)

    synced = sync(runs_dir)

    assert synced.problems == ()
    assert held(runs_dir) == before
    assert all("supersedes" in row for row in rows(runs_dir))
    assert len(rows(runs_dir, "runs")) == 1


def test_rows_of_an_older_layout_stay_when_their_log_is_gone(tmp_path):
    runs_dir = tmp_path / "runs"
    shutil.copytree(GOLDEN, runs_dir)
    before = held(runs_dir)
    (folder,) = (path for path in runs_dir.iterdir() if path.name != "lake")
    (folder / "results.jsonl").unlink()

    sync(runs_dir)

    assert held(runs_dir) == before
    assert "shorter than what the lake holds" in problems_of(runs_dir, folder)[0]

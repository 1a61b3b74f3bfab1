"""Small files become few, and whoever reads meanwhile, or after a crash, counts right."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.errors import SchemaError
from schemas.io.arrow import row_of
from schemas.lake import Lake, LakeChange, rewrite, transaction
from schemas.lake import compact as compact_module
from schemas.lake.footer import LAYOUT, PREFIX, parts_of, read_lake_file
from schemas.lake.layout import TABLE_NAMES, Coverage, live_files
from schemas.lake.rows.tables import TABLES
from schemas.lake.transaction import LakeBusy, lake_lock, lock_run
from schemas.lake.writer import LakeWriter
from tests.support.disk import mounted_disk
from tests.support.mirrored import files_of, table_of
from tests.support.paths import ROOT
from tests.support.run_rows import (
    evaluation,
    event,
    judge_iteration,
    judgement,
    pair_iteration,
    planned,
    preference,
    result,
    step,
    step_text,
)

MONTH = "2025-11"
NOW_MS = 1_770_000_000_000  # 2026-02


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """A lake on a disk that nobody waits for: without a loss of power that changes nothing."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    return tmp_path / "runs" / "lake"


def batch(run_id, first, n_rows, n_cases=1_000):
    """Return the tables of a batch: results, their text and steps, and an event at its end."""
    results = [
        row_of(result(run_id=run_id, case_id=f"c{(number - 1) % n_cases}"))
        | {"record_no": number, "output_hash": "0" * 16,
           "supersedes": number - n_cases if number > n_cases else None}
        for number in range(first, first + n_rows)
    ]  # fmt: skip
    note = row_of(event(run_id=run_id)) | {"record_no": first + n_rows}
    return {
        "outputs": table_of("outputs", results),
        "step_texts": table_of("step_texts", list(map(step_text, results))),
        "steps": table_of("steps", list(map(step, results))),
        "events": table_of("events", [note]),
        "results": table_of("results", results),
    }


def run_row(run_id, **fields):
    row = {
        "run_id": run_id, "suite_id": "s", "suite_title": "S", "started_at_ms": 1,
        "run_profile_id": "p", "benchlake_version": "0", "n_planned": 3, "run_group": None,
        "labels": [], "is_imported": False, "is_narrowed": False, "max_cost_usd": None,
        "recorded_at_ms": 1,
    }  # fmt: skip
    return row | fields


def seal(lake, run_id, *, month=MONTH, batches=2, n_rows=3, n_cases=1_000):
    """Seal a run of some batches: each has `n_rows` results, an event, and three lines of looks."""
    writer = LakeWriter(lake, run_id, month)
    plan = [row_of(planned(number, run_id=run_id)) for number in range(n_rows)]
    tables = {"plans": table_of("plans", plan), "runs": table_of("runs", [run_row(run_id)])}
    writer.seal_batch(tables, Coverage(0, 0, 0, 0))
    for number in range(batches):
        lines = number * (n_rows + 1)
        coverage = Coverage(lines * 100, (lines + n_rows + 1) * 100, lines, lines + n_rows + 1)
        writer.seal_batch(batch(run_id, lines + 1, n_rows, n_cases), coverage)
    for number in range(batches):
        looks = {
            "judge_iterations": judge_iteration(run_id=run_id),
            "judgements": judgement(run_id=run_id),
            "pair_iterations": pair_iteration(run_id=run_id),
            "preferences": preference(run_id=run_id),
            "evaluations": evaluation(run_id=run_id),
        }
        tables = {
            table: table_of(table, [row_of(look) | {"record_no": 5 * number + place}])
            for place, (table, look) in enumerate(looks.items(), 1)
        }
        coverage = Coverage(number * 700, (number + 1) * 700, 5 * number, 5 * (number + 1))
        writer.seal_batch(tables, coverage)


def rows_of(files):
    return [row for path in files for row in _rows_in(path.read_bytes())]


@lru_cache(maxsize=256)
def _rows_in(content):
    """Return the rows of a file; most files of two moments of a lake have the same bytes."""
    return pq.ParquetFile(pa.BufferReader(content)).read().to_pylist()


def counts(lake):
    """Return the rows per table and run, read through `live_files`."""
    return {
        table: Counter(row["run_id"] for row in rows_of(live_files(lake, table)))
        for table in TABLE_NAMES
    }


def globbed(lake):
    """Return the rows per table and run as a plain glob finds them."""
    return {
        table: Counter(row["run_id"] for row in rows_of(lake.glob(f"{table}/month=*/*.parquet")))
        for table in TABLE_NAMES
    }


def everything(lake):
    """Return every row of the lake, in an order of its own."""
    return {
        table: sorted(json.dumps(row, sort_keys=True) for row in rows_of(live_files(lake, table)))
        for table in TABLE_NAMES
    }


def n_files(lake):
    return {table: len(live_files(lake, table)) for table in TABLE_NAMES}


def test_a_past_month_becomes_one_file_a_table_and_no_row_changes(lake):
    for run_id in ("b", "a", "c"):
        seal(lake, run_id)
    before = everything(lake)

    done = Lake(lake).compact(now_ms=NOW_MS)

    assert done == LakeChange(n_compacted=3 * 22)
    assert n_files(lake) == dict.fromkeys(TABLE_NAMES, 1)
    assert everything(lake) == before
    assert globbed(lake) == counts(lake)
    assert list(lake.rglob(".tmp-*")) == []


def test_compacting_again_changes_nothing(lake):
    for run_id in ("b", "a"):
        seal(lake, run_id)
    Lake(lake).compact(now_ms=NOW_MS)
    files = {table: live_files(lake, table) for table in TABLE_NAMES}

    assert Lake(lake).compact(now_ms=NOW_MS) == LakeChange()
    assert {table: live_files(lake, table) for table in TABLE_NAMES} == files


def test_runs_stand_in_order_each_with_its_rows_together(lake):
    for run_id in ("c", "a-b-000001", "a", "b"):
        seal(lake, run_id)
    Lake(lake).compact(now_ms=NOW_MS)

    (path,) = live_files(lake, "results")
    rows = rows_of([path])
    assert [(row["run_id"], row["record_no"]) for row in rows] == sorted(
        (row["run_id"], row["record_no"]) for row in rows
    )
    file = read_lake_file(path)
    assert file.layout == LAYOUT
    assert [(part.run_id, part.coverage.start, part.n_rows) for part in file.parts] == [
        (run_id, start, 3) for run_id in ("a", "a-b-000001", "b", "c") for start in (0, 400)
    ]


def test_a_run_is_found_in_a_file_of_several_whatever_its_name(lake):
    names = ["a", "a-b", "a-b-000001", "together", "together-0123456789ab"]
    for run_id in names:
        seal(lake, run_id)
    single = {run_id: files_of(lake, "results", run_id) for run_id in names}
    assert all(len(files) == 2 for files in single.values())
    assert len({path for files in single.values() for path in files}) == 10
    Lake(lake).compact(now_ms=NOW_MS)
    seal(lake, "a-b-c", month="2026-02")

    together = live_files(lake, "results")[0]
    for run_id in names:
        assert files_of(lake, "results", run_id) == [together]
        parts = [part for _, part in parts_of(lake, "results", run_id)]
        assert [part.run_id for part in parts] == [run_id, run_id]
    assert len(files_of(lake, "results", "a-b-c")) == 2
    assert files_of(lake, "results", "a-b-000") == []


def test_the_month_that_goes_on_is_left_alone_until_there_are_many_files(lake, monkeypatch):
    monkeypatch.setattr(compact_module, "MAX_SMALL_FILES", 3)
    for run_id in ("a", "b", "c"):
        seal(lake, run_id, month="2026-02", batches=1)
    assert Lake(lake).compact(now_ms=NOW_MS) == LakeChange()

    seal(lake, "d", month="2026-02", batches=1)
    assert Lake(lake).compact(now_ms=NOW_MS).n_compacted == 12 * 4


def test_months_stay_apart_and_the_last_millisecond_counts(lake):
    end = 1_764_547_200_000  # 2025-12-01T00:00:00Z
    for run_id in ("a", "b"):
        seal(lake, run_id, month="2025-11")
        seal(lake, f"{run_id}2", month="2025-12")

    assert Lake(lake).compact(now_ms=end - 1) == LakeChange(), "both months go on, or are to come"
    assert Lake(lake).compact(now_ms=end).n_compacted == 2 * 22
    assert [path.parent.name for path in live_files(lake, "results")].count("month=2025-12") == 4
    assert Lake(lake).compact(now_ms=NOW_MS).n_compacted == 2 * 22
    assert [path.parent.name for path in live_files(lake, "results")] == [
        "month=2025-11", "month=2025-12",
    ]  # fmt: skip


def test_a_large_file_stays_as_it_is_and_none_is_made_too_large(lake, monkeypatch):
    monkeypatch.setattr(compact_module, "MAX_MERGED_ROWS", 10)
    seal(lake, "large", batches=1, n_rows=10)
    for run_id in "abcdef":
        seal(lake, run_id, batches=1, n_rows=4)
    large = files_of(lake, "results", "large")

    Lake(lake).compact(now_ms=NOW_MS)

    assert files_of(lake, "results", "large") == large
    assert [read_lake_file(path).n_rows for path in live_files(lake, "results")] in (
        [10, 8, 8, 8], [8, 10, 8, 8], [8, 8, 10, 8], [8, 8, 8, 10],
    )  # fmt: skip
    assert Lake(lake).compact(now_ms=NOW_MS) == LakeChange()


@pytest.mark.peers
def test_a_row_is_rewritten_a_few_times_however_often_small_files_follow(lake, monkeypatch):
    monkeypatch.setattr(compact_module, "MAX_CHEAP_ROWS", 0)
    rewritten = 0
    for number in range(30):
        seal(lake, f"r{number:02d}", batches=2, n_rows=20)
        before = set(live_files(lake, "results"))
        Lake(lake).compact(now_ms=NOW_MS)
        made = set(live_files(lake, "results")) - before
        rewritten += sum(read_lake_file(path).n_rows for path in made)

    assert counts(lake)["results"] == {f"r{number:02d}": 40 for number in range(30)}
    assert rewritten < 6 * 30 * 40
    assert len(live_files(lake, "results")) < 16


def test_row_groups_are_bounded_by_rows_and_by_bytes(lake, monkeypatch):
    monkeypatch.setattr(rewrite, "MAX_GROUP_ROWS", 7)
    for run_id in "abcd":
        seal(lake, run_id)
    Lake(lake).compact(now_ms=NOW_MS)

    (path,) = live_files(lake, "results")
    metadata = pq.ParquetFile(path).metadata
    groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert groups == [9, 9, 6]

    seal(lake, "e")
    monkeypatch.setattr(rewrite, "MAX_GROUP_BYTES", 1)
    before = everything(lake)
    Lake(lake).compact(now_ms=NOW_MS)
    (path,) = live_files(lake, "results")
    assert pq.ParquetFile(path).metadata.num_row_groups == 10
    assert everything(lake) == before, "parts were read out of the middle of row groups"


def test_a_row_group_ends_as_soon_as_it_has_its_rows(lake, monkeypatch):
    monkeypatch.setattr(rewrite, "MAX_GROUP_ROWS", 6)
    for run_id in "abc":
        seal(lake, run_id)
    Lake(lake).compact(now_ms=NOW_MS)

    metadata = pq.ParquetFile(live_files(lake, "results")[0]).metadata
    groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert groups == [6, 6, 6]


def test_a_file_is_open_only_while_its_own_rows_are_written(lake, monkeypatch):
    n_open, most, opened = 0, 0, []

    class Counted(rewrite.Source):
        def __init__(self, *args):
            nonlocal n_open, most
            super().__init__(*args)
            opened.append(self._path)
            n_open += 1
            most = max(most, n_open)

        def close(self):
            nonlocal n_open
            super().close()
            n_open -= 1

    for run_id in "ab":
        seal(lake, run_id, batches=3)
    Lake(lake).compact(now_ms=NOW_MS)
    for run_id in "cde":
        seal(lake, run_id, batches=3)
    monkeypatch.setattr(rewrite, "Source", Counted)
    Lake(lake).compact(now_ms=NOW_MS)

    assert most == 1
    assert n_open == 0
    assert len(opened) == len(set(opened)), "a file of several parts was opened more than once"


def test_what_a_crash_left_of_a_batch_stays_outside(lake):
    for run_id in ("cut", "gap", "twice", "whole"):
        seal(lake, run_id, batches=3)
    files_of(lake, "results", "cut")[-1].unlink()  # text without results
    files_of(lake, "results", "gap")[1].unlink()  # a hole in the middle
    first = files_of(lake, "outputs", "twice")[0]
    shutil.copy(first, first.with_name("twice-0123456789ab-000009.parquet"))
    before = everything(lake)

    Lake(lake).compact(now_ms=NOW_MS)

    assert everything(lake) == before
    (together,) = {file.path for file, _ in parts_of(lake, "outputs", "whole")}
    held = Counter(part.run_id for part in read_lake_file(together).parts)
    assert held == {"cut": 2, "gap": 1, "twice": 2, "whole": 3}


def test_a_run_that_is_being_mirrored_is_left_alone(lake):
    for run_id in ("a", "b", "c"):
        seal(lake, run_id)
    run_dir = lake.parent / "b"
    run_dir.mkdir()
    handle = lock_run(run_dir, lake)

    Lake(lake).compact(now_ms=NOW_MS)
    assert len(files_of(lake, "results", "b")) == 2
    assert files_of(lake, "results", "a") == files_of(lake, "results", "c")

    os.close(handle)
    Lake(lake).compact(now_ms=NOW_MS)
    assert n_files(lake) == dict.fromkeys(TABLE_NAMES, 1)


def test_two_at_once_do_not_meet(lake):
    for run_id in ("a", "b"):
        seal(lake, run_id)
    with lake_lock(lake):
        assert Lake(lake).compact(now_ms=NOW_MS) == LakeChange()
        with pytest.raises(LakeBusy, match="another process"), lake_lock(lake, 0.1):
            pass
    assert Lake(lake).compact(now_ms=NOW_MS).n_compacted == 44


def test_a_file_of_somebody_else_is_named_and_stays(lake):
    for run_id in ("a", "b"):
        seal(lake, run_id)
    folder = lake / "results" / f"month={MONTH}"
    (folder / "strange.parquet").write_bytes(b"no parquet")
    pq.write_table(pa.table({"a": [1]}), folder / "foreign.parquet")

    done = Lake(lake).compact(now_ms=NOW_MS)

    assert done.n_compacted == 44
    found = {damaged.path.name: damaged.found for damaged in done.damaged}
    assert found == {
        "strange.parquet": "is no Parquet file, or the end of one is missing",
        "foreign.parquet": "was not written by benchlake",
    }
    assert (folder / "strange.parquet").exists()
    assert (folder / "foreign.parquet").exists()
    assert len(live_files(lake, "results")) == 3


def test_a_file_with_a_column_that_would_be_lost_stays_as_it_is(lake):
    for run_id in ("a", "b", "c"):
        seal(lake, run_id, batches=1)
    (path,) = files_of(lake, "results", "b")
    table = pq.ParquetFile(path).read()
    pq.write_table(table.append_column("brand_new", pa.array([1] * table.num_rows)), path)
    (damaged,) = files_of(lake, "events", "c")
    content = bytearray(damaged.read_bytes())
    content[4:60] = b"\0" * 56
    damaged.write_bytes(content)

    done = Lake(lake).compact(now_ms=NOW_MS)

    assert files_of(lake, "results", "b") == [path]
    assert files_of(lake, "events", "c") == [damaged]
    assert files_of(lake, "results", "a") == files_of(lake, "results", "c")
    said = "has the column `brand_new`, which this benchlake does not know; it is left as it is"
    assert f"{path}: {said}" in done.problems
    assert [one.path for one in done.damaged] == [damaged]
    assert list(lake.rglob(".tmp-*")) == []


def as_layout_1(path):
    """Write a file of one run anew as the first layout had it."""
    (part,) = read_lake_file(path).parts
    table = pq.ParquetFile(path).read()
    if "supersedes" in table.column_names:
        table = table.drop_columns("supersedes")
    cover = part.coverage
    facts = {
        PREFIX + "schema_version": "1", PREFIX + "run_id": part.run_id, PREFIX + "tail": cover.tail,
        PREFIX + "coverage": f"{cover.start} {cover.end} {cover.lines_before} {cover.lines_after}",
    }  # fmt: skip
    pq.write_table(table.replace_schema_metadata(facts), path)


@pytest.mark.parametrize("older", [{0, 1, 2}, {0}, {1}, {0, 2}])
def test_files_of_the_first_layout_get_what_each_record_supersedes(lake, older):
    for run_id in ("a", "b"):
        seal(lake, run_id, batches=3, n_cases=2)
    before = {
        (row["run_id"], row["record_no"]): row["supersedes"]
        for row in rows_of(live_files(lake, "results"))
    }
    assert before["a", 3] == 1
    # Lines 4 and 8 are events, so that a record is two results, and maybe an event, before.
    before |= {(run_id, n): None for run_id in "ab" for n in (1, 2)}
    latest, expected = {}, {}
    for row in rows_of(files_of(lake, "results", "a")):
        expected[row["record_no"]] = latest.get(row["case_id"])
        latest[row["case_id"]] = row["record_no"]
    for number in older:
        as_layout_1(files_of(lake, "results", "a")[number])

    Lake(lake).compact(now_ms=NOW_MS)

    (path,) = live_files(lake, "results")
    found = {row["record_no"]: row["supersedes"] for row in rows_of([path]) if row["run_id"] == "a"}
    was_older = {number * 4 + line for number in older for line in (1, 2, 3)}
    assert found == {
        number: expected[number] if number in was_older else before["a", number] for number in found
    }
    assert read_lake_file(path).layout == LAYOUT


def test_records_in_a_file_that_stays_are_superseded_too(lake, monkeypatch):
    seal(lake, "a", batches=3, n_cases=2, n_rows=20)
    seal(lake, "b", batches=1, n_rows=2)
    for path in files_of(lake, "results", "a"):
        as_layout_1(path)
    first, *_ = files_of(lake, "results", "a")
    sizes = {path: path.stat().st_size for path in live_files(lake, "results")}
    monkeypatch.setattr(compact_module, "MAX_MERGED_ROWS", 41)

    Lake(lake).compact(now_ms=NOW_MS)

    assert first in sizes
    made = [path for path in live_files(lake, "results") if path not in sizes]
    rows = [row for row in rows_of(made) if row["run_id"] == "a"]
    latest = {}
    trials = {row["record_no"]: row["case_id"] for row in rows_of(live_files(lake, "results"))
              if row["run_id"] == "a"}  # fmt: skip
    expected = {}
    for number, case in sorted(trials.items()):
        expected[number], latest[case] = latest.get(case), number
    assert rows
    assert all(row["supersedes"] == expected[row["record_no"]] for row in rows)
    assert any(row["record_no"] in {22, 23} for row in rows)


def test_trash_is_emptied_ten_minutes_on_by_a_later_one(lake):
    for run_id in ("a", "b"):
        seal(lake, run_id)
    Lake(lake).compact(now_ms=NOW_MS)
    trashed = list(lake.glob("trash/*/*.parquet"))
    assert len(trashed) == 44
    Lake(lake).compact(now_ms=NOW_MS)
    assert all(path.exists() for path in trashed), "somebody may still be reading them"

    for folder in (lake / "trash").iterdir():
        long_ago = folder.stat().st_mtime - transaction.TRASH_S
        os.utime(folder, (long_ago, long_ago))
    Lake(lake).compact(now_ms=NOW_MS)
    assert list((lake / "trash").iterdir()) == []


def test_the_manifest_knows_what_went_where(lake):
    for run_id in ("a", "b"):
        seal(lake, run_id)
    manifest = Lake(lake)
    manifest.compact(now_ms=NOW_MS)

    for known in (manifest, Lake(lake)):
        assert known.names == {
            path.relative_to(lake).as_posix() for path in lake.glob("*/month=*/*.parquet")
        }
        assert known.parts_of("results", "b") == parts_of(lake, "results", "b")


def test_a_lake_that_is_not_there_stays_away(lake):
    assert Lake(lake).compact(now_ms=NOW_MS) == LakeChange()
    assert not lake.exists()


@pytest.mark.peers
def test_a_full_disk_leaves_all_as_it_was(tmp_path):
    with mounted_disk(tmp_path / "disk", "8m") as disk:
        lake = disk.folder / "runs" / "lake"
        for number in range(12):
            seal(lake, f"r{number:02d}", n_rows=30)
        before = everything(lake)
        filler = disk.folder / "filler"
        for free in (0, 4_096, 20_000, 60_000):
            _fill(filler, free)
            done = Lake(lake).compact(now_ms=NOW_MS)
            assert everything(lake) == before
            assert globbed(lake) == counts(lake)
            assert list(lake.glob("*/month=*/.tmp-*")) == []
            if done.problems:
                assert "No space left on device" in done.problems[0]
                assert len(done.problems) == 1
            filler.unlink()
        assert Lake(lake).compact(now_ms=NOW_MS).problems == []
        assert everything(lake) == before
        assert n_files(lake) == dict.fromkeys(TABLE_NAMES, 1)


def _fill(path, free):
    """Write until nothing more fits, then give some bytes back."""
    with path.open("wb", buffering=0) as file:
        for size in (65_536, 4_096):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
        file.truncate(max(file.tell() - free, 0))


KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from schemas.lake import compact as compact_module, rewrite
from schemas.lake import Lake
rewrite.GROUP_ROWS = 4
os.fsync = lambda handle: None  # who is killed loses nothing that was written, synced or not
template, folder = Path(sys.argv[1]), Path(sys.argv[2])
now_ms = int(sys.argv[3])
compact_module.TABLE_NAMES = sys.argv[4:]
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate"}
for step in range(1, 1_000):
    runs = folder / f"{step:03d}"
    shutil.copytree(template, runs)
    child = os.fork()
    if not child:
        left = step
        def one_step():
            global left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        def hook(name, arguments):
            is_write = name == "open" and isinstance(arguments[2], int) and (
                arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            if name in CHANGES or is_write:
                one_step()
        real = rewrite.fitted
        def fitted(*arguments):
            one_step()
            return real(*arguments)
        rewrite.fitted = fitted
        sys.addaudithook(hook)
        Lake(runs / "lake").compact(now_ms=now_ms)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == 0:
        print(step)
        break
    assert code == -signal.SIGKILL, code
"""
"""Compacts copies of a lake, each killed one change of the disk later, until one runs through."""


@pytest.mark.peers
def test_killed_before_any_change_of_the_disk_it_is_completed_or_taken_back(lake, tmp_path):
    for run_id in ("a", "b-000001"):
        seal(lake, run_id, batches=2)
    before, exact = everything(lake), counts(lake)
    folder = tmp_path / "killed"
    folder.mkdir()

    # The others are compacted as these two are, one after the other.
    tables = ("results", "outputs")
    arguments = [sys.executable, "-P", "-c", KILLED, lake.parent, folder, str(NOW_MS), *tables]
    done = subprocess.run(
        [str(argument) for argument in arguments],
        cwd=ROOT, check=True, capture_output=True, text=True, timeout=200,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip

    n_steps = int(done.stdout)
    assert n_steps > 30
    states = Counter()
    for runs in sorted(folder.iterdir()):
        killed = runs / "lake"
        assert everything(killed) == before, runs.name
        found = globbed(killed)
        for table in TABLE_NAMES:
            assert found[table] <= exact[table], "a plain glob never counts a row twice"
            for run_id in exact[table]:
                assert len(parts_of(killed, table, run_id)) == len(parts_of(lake, table, run_id))
        states[found == exact] += 1
        Lake(killed).compact(now_ms=NOW_MS)
        assert everything(killed) == before, runs.name
        assert globbed(killed) == exact
        assert n_files(killed) == dict.fromkeys(TABLE_NAMES, 1)
        assert list(killed.glob("*/month=*/.tmp-*")) == []
    assert states[False] > 5, "some were killed while files had moved"


def test_a_lake_that_cannot_be_written_is_read_right_in_the_middle_of_a_compaction(
    lake, monkeypatch
):
    for run_id in ("a", "b"):
        seal(lake, run_id)
    before = everything(lake)
    real = Path.rename

    def dies(self, target):
        if Path(target).name.startswith("together-"):
            raise KeyboardInterrupt
        return real(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", dies)
        patch.setattr(transaction, "_take_back", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            Lake(lake).compact(now_ms=NOW_MS)
    assert globbed(lake) != counts(lake)
    assert everything(lake) == before

    def refuses(*_):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("schemas.lake.transaction.os.open", refuses)
        assert Lake(lake).compact(now_ms=NOW_MS) == LakeChange()
    assert everything(lake) == before
    assert Lake(lake).compact(now_ms=NOW_MS).problems == []
    assert everything(lake) == before == everything(lake)


@pytest.mark.peers
def test_readers_count_right_while_files_come_and_are_compacted(lake):
    seal(lake, "always", batches=3)
    problems, stop = [], threading.Event()

    def read():
        seen = Counter()
        while not stop.is_set():
            try:
                found = counts(lake)["results"]
            except FileNotFoundError:
                continue  # moved between listing and reading: a reader lists again
            except SchemaError as exc:
                problems.append(str(exc))
                continue
            problems.extend((run_id, n) for run_id, n in found.items() if n > 9)
            if seen - found:
                problems.append(seen - found)
            seen = found

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(8):
        seal(lake, f"r-{number:02d}", batches=3)
        Lake(lake).compact(now_ms=NOW_MS)
    stop.set()
    for thread in threads:
        thread.join()

    assert problems == []
    assert counts(lake)["results"] == {"always": 9} | {f"r-{n:02d}": 9 for n in range(8)}
    assert set(TABLES) == set(TABLE_NAMES)

"""Folders with import.json: the rows that follow from them, and how they behave in the lake."""

import errno
import json
import os
import shutil
import tempfile

import pyarrow.parquet as pq
import pytest

from analyze.importers.base import write_run
from analyze.importers.defaults import result_of
from analyze.importers.originals import digest_of, hashes_of
from analyze.lake.labels import label
from analyze.lake.sync import has_changes, problems_of, sync
from analyze.query.ensure_synced import prune_runs
from schemas.errors import ConfigError, SchemaError, UnknownVersion
from schemas.lake import Lake
from schemas.lake.layout import lake_of, live_files
from schemas.lake.mirror import bulk_load
from schemas.lake.mirror.bulk_load import read_whole
from schemas.lake.rows.row_store import RowStore
from schemas.lake.rows.tables import TABLES
from schemas.run.import_record import ImportRecord, UnfinishedTrial, is_imported
from schemas.run.layout import IMPORT_FILE

START = 1_767_225_600_000


@pytest.fixture
def runs_dir(tmp_path):
    return tmp_path / "runs"


def line(case_id, *, run_id="imp", repetition=1, passed=True, **known):
    return result_of(
        run_id=run_id, suite_id="s", provider="other", model="a/b", model_id="a_b",
        prompt_id=case_id.upper(), case_id=case_id, repetition=repetition, passed=passed,
        started_at_ms=START + 5, ended_at_ms=START + 1005, **known,
    )  # fmt: skip


def missing(case_id, repetition=1):
    return UnfinishedTrial(
        model_id="a_b", case_id=case_id, repetition=repetition, provider="other", model="a/b",
        prompt_id=case_id.upper(),
    )  # fmt: skip


def record(runs_dir, run_id="imp", content="the original", **fields):
    source = runs_dir.parent / "report.json"
    source.write_text(content)
    files = hashes_of({"report.json": source})
    base = {
        "run_id": run_id, "source_format": "sf-bench", "source_name": "report.json",
        "source_sha256": digest_of(files), "files": files, "benchlake_version": "0.1.0",
        "suite_id": "s", "suite_title": "The set", "started_at_ms": START,
    }  # fmt: skip
    return ImportRecord(**base | fields), {"report.json": source}


def imported(runs_dir, *lines, run_id="imp", **fields):
    made, sources = record(runs_dir, run_id, **fields)
    return write_run(runs_dir, made, lines, sources)


def rows(runs_dir, table="results"):
    files = live_files(lake_of(runs_dir), table)
    return [row for path in files for row in pq.ParquetFile(path).read().to_pylist()]


def whole(runs_dir, table):
    return read_whole(runs_dir / "imp", imported=True).tables[table].whole().to_pylist()


def test_results_come_in_as_they_are_written(runs_dir):
    imported(runs_dir, line("c1"), line("c2", passed=None, failure_type="exception"))

    first, second = whole(runs_dir, "results")
    assert {name: first[name] for name in ("run_id", "suite_id", "prompt_id", "passed")} == {
        "run_id": "imp", "suite_id": "s", "prompt_id": "C1", "passed": True,
    }  # fmt: skip
    assert first["case_hash"] is first["e2e_ms"] is first["cost_usd"] is None
    assert (second["status"], second["passed"], second["record_no"]) == ("failed", None, 2)
    assert [row["raw_output"] for row in whole(runs_dir, "outputs")] == ["", ""]


def test_the_plan_is_the_results_and_what_is_unfinished(runs_dir):
    imported(
        runs_dir, line("c1"), line("c1", repetition=2, passed=None), line("c2", passed=None),
        unfinished=(missing("c1", 2), missing("c3")),
    )  # fmt: skip

    plan = whole(runs_dir, "plans")
    assert [(row["case_id"], row["repetition"], row["trial_no"]) for row in plan] == [
        ("c1", 1, 0), ("c1", 2, 1), ("c2", 1, 2), ("c3", 1, 3),
    ]  # fmt: skip
    assert [row["is_scorable"] for row in plan] == [True, True, False, True]
    assert (
        {row["case_hash"] for row in plan} == {row["fingerprint_parts"] for row in plan} == {None}
    )
    assert (plan[3]["provider"], plan[3]["model"], plan[3]["runner_type"]) == (
        "other", "a/b", "llm_probe",
    )  # fmt: skip
    (run,) = whole(runs_dir, "runs")
    assert (run["is_imported"], run["n_planned"], run["suite_title"]) == (True, 4, "The set")
    assert run["started_at_ms"] == START


def test_trials_without_a_result_are_not_scorable_where_nothing_is(runs_dir):
    imported(
        runs_dir, line("c1"), line("c2", passed=None, failure_type="exception"),
        unfinished=(missing("c3"), missing("c1", 2)), scorable=False,
    )  # fmt: skip

    assert [row["is_scorable"] for row in whole(runs_dir, "plans")] == [True, False, False, True]


def test_a_source_without_times_starts_with_its_first_result(runs_dir):
    imported(runs_dir, line("c1"), started_at_ms=None)
    (run,) = whole(runs_dir, "runs")
    assert run["started_at_ms"] == START + 5


def test_a_run_of_unfinished_trials_alone_is_a_run(runs_dir):
    imported(runs_dir, unfinished=(missing("c1"),), started_at_ms=None)

    synced = sync(runs_dir)

    assert (synced.n_runs, synced.problems) == (1, ())
    assert not has_changes(runs_dir)
    assert [row["case_id"] for row in rows(runs_dir, "plans")] == ["c1"]


def test_every_column_of_every_table_is_filled_as_declared(runs_dir):
    imported(runs_dir, line("c1"), unfinished=(missing("c2"),))

    for table, content in read_whole(runs_dir / "imp", imported=True).tables.items():
        assert content.whole().schema.equals(TABLES[table]), table


def test_a_later_line_takes_the_place_of_an_earlier_one(runs_dir):
    imported(runs_dir, line("c1", passed=False), line("c1"))

    assert [row["supersedes"] for row in whole(runs_dir, "results")] == [None, 1]
    assert len(whole(runs_dir, "plans")) == 1


def test_rows_that_are_too_many_for_memory_wait_on_the_disk_and_are_the_same(runs_dir, monkeypatch):
    lines = [line(f"c{n}", raw_output=f"answer {n} " * 50) for n in range(400)]
    folder = imported(runs_dir, *lines, line("c3", passed=False)).run_dir
    events = b'{"record_type": "event", "run_id": "imp", "event": "x", "at_ms": 5}\n'
    with (folder / "results.jsonl").open("ab") as log:
        log.write(events + b"no line\n" + events)
    expected = read_whole(folder, imported=True)
    spilled = []
    monkeypatch.setattr(bulk_load, "CHUNK_BYTES", 10_000)
    monkeypatch.setattr(bulk_load, "MAX_HELD_BYTES", 50_000)
    monkeypatch.setattr(
        RowStore,
        "spill",
        lambda self, into, spill=RowStore.spill: spilled.append(spill(self, into)),
    )

    found = read_whole(folder, imported=True, lake=runs_dir)
    synced = sync(runs_dir)

    assert len(spilled) > 10
    assert sum(one.nbytes for one in found.tables.values()) < 150_000
    assert {name: one.whole() for name, one in found.tables.items()} == {
        name: one.whole() for name, one in expected.tables.items()
    }
    assert found.logs == expected.logs
    assert found.problems == expected.problems != ()
    assert (synced.n_runs, synced.n_rows) == (1, 403)
    for table, content in expected.tables.items():
        assert rows(runs_dir, table) == content.whole().to_pylist(), table
    assert not [one for one in lake_of(runs_dir).rglob("*") if "tmp" in one.name]


def test_without_room_to_wait_nothing_comes_in_and_later_all_does(runs_dir, monkeypatch):
    imported(runs_dir, *(line(f"c{n}", raw_output="long " * 100) for n in range(50)))

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(bulk_load, "MAX_HELD_BYTES", 1_000)
        patch.setattr(tempfile, "TemporaryFile", full)
        with pytest.raises(OSError, match="No space left"):
            sync(runs_dir)
    assert [*live_files(lake_of(runs_dir), "results")] == []

    assert sync(runs_dir).n_rows == 50


def test_what_comes_while_a_log_is_read_waits_for_the_next_time(runs_dir, monkeypatch):
    folder = imported(runs_dir, line("c1"), line("c2")).run_dir
    log = folder / "results.jsonl"
    whole_line, half = line("c3").model_dump_json(), '{"record_type": "result", "run_'
    log.write_text(log.read_text() + half)
    n_bytes = log.stat().st_size
    opened = bulk_load.open_own_file

    def growing(*place):
        file = opened(*place)
        seen = os.fstat(file.fileno())
        monkeypatch.setattr(bulk_load.os, "fstat", lambda _: seen)
        with log.open("a") as more:
            more.write(f'id": "x"}}\n{whole_line}\n')
        return file

    with monkeypatch.context() as patch:
        patch.setattr(bulk_load, "open_own_file", growing)
        found = read_whole(folder, imported=True)
    monkeypatch.undo()

    coverage = found.results.coverage
    assert (found.results.stat.size, coverage.lines_after) == (n_bytes, 2)
    assert coverage.end == n_bytes - len(half)
    assert read_whole(folder, imported=True).results.coverage.lines_after == 4


def test_bad_lines_are_named_and_the_rest_is_kept(runs_dir):
    folder = imported(runs_dir, line("c1")).run_dir
    with (folder / "results.jsonl").open("a") as log:
        log.write('{"record_type": "result"}\n' + line("c2", run_id="x").model_dump_json() + "\n")
        log.write(line("c3").model_dump_json() + "\n" + '{"torn')

    synced = sync(runs_dir)

    assert [row["case_id"] for row in rows(runs_dir)] == ["c1", "c3"]
    assert [row["case_id"] for row in rows(runs_dir, "plans")] == ["c1", "c3"]
    first, second, third = synced.problems
    assert "results.jsonl:2: `" in first
    assert "results.jsonl:3: belongs to another run, 'x'" in second
    assert "torn line or not mirrored yet" in third
    assert not has_changes(runs_dir)


def test_a_log_that_grew_is_read_anew_and_keeps_its_labels(runs_dir):
    folder = imported(runs_dir, line("c1"), unfinished=(missing("c2"),)).run_dir
    sync(runs_dir)
    label(runs_dir, "imp", ["baseline"])
    with (folder / "results.jsonl").open("a") as log:
        log.write(line("c2").model_dump_json() + "\n")

    assert sync(runs_dir).problems == ()

    assert [row["case_id"] for row in rows(runs_dir)] == ["c1", "c2"]
    assert len(rows(runs_dir, "plans")) == 2
    newest = max(rows(runs_dir, "runs"), key=lambda row: row["recorded_at_ms"])
    assert (newest["labels"], newest["is_imported"]) == (["baseline"], True)
    assert "labels" not in json.loads((folder / IMPORT_FILE).read_text())
    assert not (folder / "config.json").exists()


def test_syncing_writes_nothing_into_the_folder(runs_dir):
    folder = imported(runs_dir, line("c1")).run_dir
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    sync(runs_dir)

    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_deleted_folder_leaves_its_rows_and_the_same_import_takes_them_up(runs_dir):
    folder = imported(runs_dir, line("c1")).run_dir
    sync(runs_dir)
    label(runs_dir, "imp", ["kept"])
    shutil.rmtree(folder)
    sync(runs_dir)
    assert len(rows(runs_dir)) == 1

    with pytest.raises(ConfigError, match="whose folder is gone"):
        imported(runs_dir, line("c2"), line("c1"), content="another one")
    assert imported(runs_dir, line("c1")).is_new
    sync(runs_dir)

    assert len(rows(runs_dir)) == 1
    newest = max(rows(runs_dir, "runs"), key=lambda row: row["recorded_at_ms"])
    assert newest["labels"] == ["kept"]


def test_a_pruned_import_stays_out_until_it_is_named(runs_dir):
    folder = imported(runs_dir, line("c1")).run_dir
    sync(runs_dir)

    assert prune_runs(runs_dir, ["imp"]) > 0

    assert sync(runs_dir).n_runs == 0
    assert sync(runs_dir, only=[folder]).n_runs == 1
    assert len(rows(runs_dir)) == len(rows(runs_dir, "plans")) == 1


def test_many_imports_are_compacted_into_few_files(runs_dir):
    for number in range(12):
        imported(runs_dir, line(f"c{number}", run_id=f"imp-{number}"), run_id=f"imp-{number}")
        sync(runs_dir)

    lake = lake_of(runs_dir)
    Lake(lake).compact()

    assert len(rows(runs_dir)) == 12
    assert not has_changes(runs_dir)
    assert sync(runs_dir).n_rows == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"run_id": "other"}, "is the record of another run, `other`"),
        ({"schema_version": 2}, "this benchlake reads up to 1"),
        ({"suite_id": "Not A Slug"}, "`suite_id`"),
    ],
)
def test_a_folder_that_is_refused_is_named_by_its_record_and_taken_once_it_is_right(
    runs_dir, change, said
):
    folder = imported(runs_dir, line("c1")).run_dir
    good = (folder / IMPORT_FILE).read_bytes()
    (folder / IMPORT_FILE).write_text(json.dumps(json.loads(good) | change))

    (problem,) = sync(runs_dir).problems
    assert f"{folder / IMPORT_FILE}: " in problem
    assert said in problem
    assert problems_of(runs_dir, folder) == [problem]
    assert not has_changes(runs_dir)

    (folder / IMPORT_FILE).write_bytes(good)
    assert sync(runs_dir).n_runs == 1


def test_a_folder_with_a_plan_is_ours_whatever_else_is_in_it(runs_dir):
    folder = imported(runs_dir, line("c1")).run_dir
    assert is_imported(folder)
    (folder / "plan.jsonl").write_text("")
    assert not is_imported(folder)


def test_a_copy_of_a_folder_under_another_name_is_not_read(runs_dir):
    folder = imported(runs_dir, line("c1")).run_dir
    shutil.copytree(folder, runs_dir / "copy")

    with pytest.raises(SchemaError, match="record of another run"):
        read_whole(runs_dir / "copy", imported=True)


def test_a_record_of_a_later_version_is_refused_by_name(runs_dir):
    folder = imported(runs_dir, line("c1"), schema_version=9).run_dir
    with pytest.raises(UnknownVersion):
        read_whole(folder, imported=True)

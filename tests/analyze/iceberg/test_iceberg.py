"""The lake's rows, read back through a catalog of Iceberg, whatever became of its files."""

import json
import re
import shutil
import sys

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analyze.iceberg import catalog as registration
from analyze.iceberg.catalog import TABLES, catalog_file, open_catalog, register_lake
from analyze.lake.sync import sync
from schemas.lake import Join, join, lake_columns, lake_of, live_files
from tests.support.analyze_cli import call
from tests.support.lake_rows import seal
from tests.support.made_history import MadeHistory
from tests.support.paths import GOLDEN, ROOT
from tests.support.run_builder import STARTED_AT_MS

pytestmark = pytest.mark.peers


def add(new_run, *run_ids):
    """Write runs of the first day; each is sealed in files of its own."""
    for run_id in run_ids:
        new_run(run_id, STARTED_AT_MS).night("abc", repetitions=2).mirror()


def rows_in(rows):
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in rows.to_pylist())


def rows_of_files(lake, table):
    """Return the rows of a table's files in the declared columns; those without files have none."""
    files = live_files(lake, table)
    names = [column.name for column in lake_columns()[table]]
    parts = [pq.ParquetFile(path).read() for path in files]
    return pa.concat_tables(parts, promote_options="default").select(names) if parts else None


def differences(runs):
    """Return the tables whose rows, read back, are not those of the lake's files."""
    lake = lake_of(runs)
    catalog = open_catalog(catalog_file(lake))
    found = {}
    for table in TABLES:
        back = catalog.load_table(f"benchlake.{table}").scan().to_arrow()
        own = rows_of_files(lake, table)
        assert back.column_names == [column.name for column in lake_columns()[table]]
        if rows_in(back) != ([] if own is None else rows_in(own)):
            found[table] = f"{back.num_rows} rows, not {own and own.num_rows}"
    return found


def test_a_lake_is_read_back_after_every_change_of_its_files(tmp_path, new_run):
    runs, lake = tmp_path / "runs", lake_of(tmp_path / "runs")
    add(new_run, "r1", "r2")
    seal(lake, MadeHistory())
    join(lake, "smoke", [Join("of-no-run", "of-none-either")], "person")

    first = call("iceberg", "--runs", runs, "--json")
    assert first.code == 0, first
    assert differences(runs) == {}
    again = call("iceberg", "--runs", runs, "--no-sync")
    assert "0 files registered, 0 files taken out" in again.out

    add(new_run, "r3")
    assert "registered, 0 files taken out" in call("iceberg", "--runs", runs, "--no-sync").out
    assert differences(runs) == {}

    before = len(live_files(lake, "results"))
    assert sync(runs).n_compacted > 0
    assert len(live_files(lake, "results")) < before
    found = json.loads(call("iceberg", "--runs", runs, "--json").out)
    (results,) = (one for one in found["tables"] if one["table"] == "results")
    assert (results["n_removed"], results["n_files"]) == (before, len(live_files(lake, "results")))
    shutil.rmtree(lake / "trash")
    assert differences(runs) == {}
    assert call("sync", "--prune", "r1", "--runs", runs).code == 0
    call("iceberg", "--runs", runs)
    assert differences(runs) == {}
    assert call("runs", "--runs", runs).err == ""  # the lake knows nothing of the catalog


def test_a_registration_that_was_killed_between_tables_is_repaired(tmp_path, new_run, monkeypatch):
    runs, lake = tmp_path / "runs", lake_of(tmp_path / "runs")
    add(new_run, "r1")
    register_lake(lake, catalog_file(lake))
    add(new_run, "r2")
    commit, done = registration._commit, []

    def killed(*given):
        if len(done) == 3:
            raise SystemExit
        done.append(commit(*given))

    monkeypatch.setattr(registration, "_commit", killed)
    with pytest.raises(SystemExit):
        register_lake(lake, catalog_file(lake))
    monkeypatch.undo()
    torn = differences(runs)
    assert sync(runs).n_compacted > 0
    register_lake(lake, catalog_file(lake))

    assert {"results", "outputs", "events"}.isdisjoint(torn)
    assert {"plans", "runs"} <= torn.keys()
    assert differences(runs) == {}


def test_columns_that_came_later_are_null_in_older_files(tmp_path):
    runs = tmp_path / "runs"
    shutil.copytree(GOLDEN / "lake_layout_1" / "runs", runs)
    lake = lake_of(runs)
    register_lake(lake, catalog_file(lake))
    table = open_catalog(catalog_file(lake)).load_table("benchlake.results")

    assert table.scan().to_arrow()["supersedes"].to_pylist() == [None, None]


def test_a_folder_that_moved_is_registered_where_it_is(tmp_path, new_run):
    runs = tmp_path / "runs"
    add(new_run, "r1")
    call("iceberg", "--runs", runs)
    moved = tmp_path / "runs [of] 2026, 100 % é"
    runs.rename(moved)

    assert call("iceberg", "--runs", moved).code == 0
    assert differences(moved) == {}


def test_polars_reads_a_table(tmp_path, new_run, monkeypatch):
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")
    add(new_run, "r1")
    runs = tmp_path / "runs"
    call("iceberg", "--runs", runs)
    table = open_catalog(catalog_file(lake_of(runs))).load_table("benchlake.results")

    assert pl.scan_iceberg(table).select(pl.len()).collect().item() == 6


def test_the_page_of_spark_shows_how_a_catalog_is_read(tmp_path, new_run, monkeypatch):
    add(new_run, "r1")
    monkeypatch.chdir(tmp_path)
    assert call("iceberg").code == 0
    _, code = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "spark.md").read_text(), re.DOTALL
    )
    names = {}
    exec(code, names)

    assert names["passed"].column_names == ["run_id", "case_id"]


def test_another_place_is_taken_and_what_is_no_catalog_is_named(tmp_path, new_run):
    add(new_run, "r1")
    runs, mine = tmp_path / "runs", tmp_path / "cat" / "mine.db"
    assert call("iceberg", "--runs", runs, "--catalog", mine).code == 0
    assert mine.is_file()
    assert not catalog_file(lake_of(runs)).exists()
    mine.write_text("no database at all, but a text that is long enough to be read as one\n" * 99)
    done = call("iceberg", "--runs", runs, "--catalog", mine)

    assert done.code == 1
    assert "mine.db: is no catalog that can be used" in done.err
    assert "analyze iceberg" in done.err


def test_a_folder_that_is_not_there_and_one_in_place_of_a_file_are_named(tmp_path, new_run):
    done = call("iceberg", "--runs", tmp_path / "nowhere")
    assert done.code == 2
    assert "there is no such folder; --runs names another" in done.err
    assert not (tmp_path / "nowhere").exists()

    add(new_run, "r1")
    done = call("iceberg", "--runs", tmp_path / "runs", "--catalog", tmp_path)
    assert done.code == 2
    assert "is a folder; --catalog names a file" in done.err


def test_without_its_library_the_command_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    done = call("iceberg", "--runs", tmp_path)

    assert done.code == 2
    assert "pip install 'benchlake[iceberg]'" in done.err

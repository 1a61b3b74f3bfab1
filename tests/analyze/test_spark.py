"""Every mart says the same on Spark SQL, from the same files by the same text."""

import math
import shutil
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from analyze.catalog import VIEWS, create_views, name_of
from analyze.raw_tables import RAW_TABLES, connect, fill
from analyze.sync import sync
from schemas.lake import TABLES
from schemas.lake_files import live_files
from tests.made_history import MadeHistory
from tests.spark_views import create_views_on_spark, plain, spark_session

MARTS = [name_of(view) for view in VIEWS if view.startswith("marts/")]
SAMPLES = Path(__file__).parents[2] / "data" / "samples" / "runs"
CLOSE = 1e-12


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


def differences(spark, connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return what differs, by mart: columns, number of rows, or the first value."""
    found = {}
    for mart in MARTS:
        relation = connection.sql(f"from {mart}")
        frame = spark.table(mart)
        if frame.columns != relation.columns:
            found[mart] = f"columns {frame.columns}, not {relation.columns}"
            continue
        rows, theirs = relation.fetchall(), [tuple(map(plain, row)) for row in frame.collect()]
        if len(rows) != len(theirs):
            found[mart] = f"{len(theirs)} rows, not {len(rows)}"
            continue
        for number, (row, other) in enumerate(zip(rows, theirs, strict=True)):
            for column, value, its in zip(relation.columns, row, other, strict=True):
                if not same(value, its):
                    found.setdefault(mart, f"row {number}, {column}: {its!r}, not {value!r}")
    return found


def same(value, other) -> bool:
    """Floats up to rounding, everything else exactly, and of the same kind."""
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=CLOSE, abs_tol=0)
    return type(value) is type(other) and value == other


def write_files(folder: Path, connection: duckdb.DuckDBPyConnection, names) -> dict:
    """Write raw tables that have no file of their own, and return the file of each."""
    paths = {name: folder / f"{name}.parquet" for name in names}
    for name, path in paths.items():
        connection.execute(f"copy (from raw_{name}) to '{path}' (format parquet)").fetchall()
    return {name: [path] for name, path in paths.items()}


def test_marts_of_a_made_history_are_the_same(spark, tmp_path):
    history = MadeHistory()
    with history.connect() as connection:
        files = write_files(tmp_path, connection, ("thresholds", "failure_types"))
        for name, table in history.tables().items():
            files[name] = [tmp_path / f"{name}.parquet"]
            pq.write_table(table, files[name][0], row_group_size=50)
        create_views_on_spark(spark, files)
        found = differences(spark, connection)
        n_rows = {mart: len(connection.sql(f"from {mart}")) for mart in MARTS}

    assert found == {}
    assert [mart for mart, n in n_rows.items() if n == 0] == []


def test_marts_of_a_lake_of_real_folders_are_the_same(spark, tmp_path, new_run):
    shutil.copytree(SAMPLES, tmp_path / "runs", ignore=shutil.ignore_patterns("lake", "artifacts"))
    for number, run_id in enumerate(("r1", "r2", "r3")):
        run = new_run(run_id, started_at_ms=1_763_762_400_000 + 60_000 * (number // 2))
        for case_id in ("a", "b", "c"):
            for repetition in (1, 2):
                trial = run.plan(case_id, repetition, expected_tools=("free",))
                if (case_id, repetition) == ("c", number):
                    continue
                run.result(trial, passed=(number + repetition) % 2 == 0, cost_usd=0.1 * number)
        run.write()
    assert sync(run.runs_dir).n_runs == 3 + len(list(SAMPLES.glob("*/results.jsonl")))
    live = {table: live_files(run.lake, table) for table in TABLES}
    assert all(len(live[table]) > 0 for table in ("results", "plans", "runs"))
    with connect() as connection:
        fill(connection, run.lake)
        create_views(connection, described=False)
        unwritten = [table for table in RAW_TABLES if not live.get(table)]
        written = {table: paths for table, paths in live.items() if paths}
        create_views_on_spark(spark, written | write_files(tmp_path, connection, unwritten))

        assert differences(spark, connection) == {}

"""Every mart says the same on Spark SQL, from the same files by the same text."""

import math
import shutil
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analyze.contracts import CONTRACTS
from analyze.lake.raw_tables import RAW_TABLES, connect, fill
from analyze.lake.sync import sync
from analyze.query.catalog import VIEWS, create_views, name_of
from schemas.lake import Join, join, live_files
from schemas.lake.rows.tables import TABLES
from tests.support.made_history import MadeHistory
from tests.support.paths import SAMPLES
from tests.support.run_builder import STARTED_AT_MS
from tests.support.spark_views import create_views_on_spark, plain, spark_session

pytestmark = pytest.mark.peers

MARTS = [name_of(view) for view in VIEWS if view.startswith("marts/")]
CLOSE = 1e-12


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


def differences(spark, connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return what differs, by mart: columns, number of rows, or the first value."""
    found = {}
    for mart in MARTS:
        order = "" if CONTRACTS[mart].is_sorted else f"order by {CONTRACTS[mart].order}"
        relation = connection.sql(f"from {mart} {order}")
        frame = spark.sql(f"select * from {mart} {order}")
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


def write_files(folder: Path, tables: Mapping[str, pa.Table]) -> dict[str, list[Path]]:
    """Write raw tables that have no file of their own, and return the file of each."""
    paths = {name: folder / f"{name}.parquet" for name in tables}
    for name, path in paths.items():
        pq.write_table(tables[name], path, row_group_size=50)
    return {name: [path] for name, path in paths.items()}


@pytest.fixture
def lake(tmp_path, new_run):
    """A lake of real folders: the samples, and runs that began together."""
    shutil.copytree(SAMPLES, tmp_path / "runs", ignore=shutil.ignore_patterns("lake", "artifacts"))
    for number, run_id in enumerate(("r1", "r2", "r3")):
        run = new_run(run_id, STARTED_AT_MS + 60_000 * (number // 2))

        def outcome(trial, number=number):
            case_id, repetition = trial.case_id, trial.repetition
            if (case_id, repetition) == ("c", number):
                return None
            if (case_id, number) == ("b", 2):
                return "timeout"
            return {"passed": (number + repetition) % 2 == 0, "cost_usd": 0.1 * number}

        run.night("abc", outcome, repetitions=2, plan={"expected_tools": ("free",)})
    join(run.lake, "smoke", [Join("of-no-run", "of-none-either")], "person")  # renames nothing
    assert sync(run.runs_dir).n_runs == 3 + len(list(SAMPLES.glob("*/results.jsonl")))
    return run.lake


def test_marts_of_a_lake_of_real_folders_and_of_a_made_history_are_the_same(spark, tmp_path, lake):
    """Both at once: to plan every view a second time would take Spark longer than their rows."""
    live = {table: list(live_files(lake, table)) for table in TABLES}
    assert all(len(live[table]) > 0 for table in ("results", "plans", "runs"))
    made = MadeHistory().tables()
    with connect() as connection:
        fill(connection, lake)
        unwritten = [name for name in RAW_TABLES if name not in made]
        tables = made | {
            name: connection.sql(f"from raw_{name}").to_arrow_table() for name in unwritten
        }
        files = write_files(tmp_path, tables)
        for name, table in made.items():
            rows = connection.sql(f"from raw_{name}").to_arrow_table()
            connection.execute(f"drop view raw_{name}").fetchall()
            connection.register(f"raw_{name}", pa.concat_tables([rows, table.cast(rows.schema)]))
        create_views(connection, described=False)
        create_views_on_spark(
            spark, {name: [*live.get(name, []), *paths] for name, paths in files.items()}
        )
        found = differences(spark, connection)
        n_rows = {mart: len(connection.sql(f"from {mart}")) for mart in MARTS}

    assert found == {}
    assert [mart for mart, n in n_rows.items() if n == 0] == []

"""Opening the lake for reading: whatever files lie there, of whichever version."""

import shutil

import duckdb
import pyarrow.parquet as pq
import pytest

from analyze.lake import raw_tables
from analyze.lake.overlay import RAW_TABLES
from analyze.query.catalog import create_views
from analyze.summary.summarize import summarize_run
from schemas.config.project import Thresholds
from schemas.errors import SchemaError, UnknownVersion, ViewError
from schemas.failures import FAILURES, classify
from schemas.lake import Lake, lake_columns, lake_of, live_files
from schemas.lake.rows.tables import TABLES
from schemas.run.config import read_config
from tests.support.interpreter import run_without
from tests.support.mirrored import files_of
from tests.support.open_lake import open_lake
from tests.support.paths import GOLDEN

OLD_LAKE = GOLDEN / "lake_layout_1"


@pytest.mark.parametrize(
    ("text", "message"), [(None, "cannot be read"), ("{}", "`run_id`: Field required")]
)
def test_a_config_that_is_none_names_the_file(run, text, message):
    run.plan()
    run.write()
    (run.path / "config.json").unlink()
    if text is not None:
        (run.path / "config.json").write_text(text)

    with pytest.raises(SchemaError, match=message):
        read_config(run.path)


def test_raw_tables_exist_without_a_lake_in_the_declared_types(tmp_path):
    with open_lake(tmp_path / "it's nowhere") as connection:
        for table in RAW_TABLES:
            described = connection.execute(f"describe raw_{table}").fetchall()
            columns = [(column.name, column.type) for column in lake_columns()[table]]
            assert [(name, kind.replace('"', "")) for name, kind, *_ in described] == [
                (name, kind.replace('"', "")) for name, kind in columns
            ]
        assert connection.execute("from raw_results").fetchall() == []


def test_a_slow_query_writes_nothing_in_front_of_its_answer():
    """The engine would draw a bar after two seconds; it is asked instead whether it may."""
    with raw_tables.connect() as connection:
        found = connection.execute("select current_setting('enable_progress_bar')").fetchall()

    assert found == [(False,)]


def test_quotes_and_wildcards_in_the_path_of_a_lake_do_no_harm(new_run, tmp_path):
    run = new_run("o'neill")
    run.runs_dir = tmp_path / "it's [a]*?"
    run.result(run.plan())

    assert run.group().n_total == 1


def test_run_ids_that_begin_alike_stay_apart(new_run):
    for name in ("2026", "2026-a"):
        run = new_run(name)
        run.result(run.plan())
        run.mirror()

    assert summarize_run(run.runs_dir / "2026", run.lake).models[0].n_total == 1
    with open_lake(run.lake) as connection:
        rows = connection.execute("select run_id from raw_results order by run_id").fetchall()
    assert rows == [("2026",), ("2026-a",)]


@pytest.mark.parametrize(
    ("fact", "name"), [("SCHEMA_VERSION", "schema_version"), ("LAYOUT", "layout")]
)
def test_files_of_a_newer_version_are_refused_by_name(run, monkeypatch, fact, name):
    run.result(run.plan())
    run.mirror()
    older = getattr(raw_tables, fact) - 1
    monkeypatch.setattr(raw_tables, fact, older)

    with pytest.raises(UnknownVersion, match=rf"\.parquet: {name} {older + 1}, .* up to {older}"):
        open_lake(run.lake, run.run_id)


def test_a_file_that_cannot_be_read_is_named(run):
    run.result(run.plan())
    run.mirror()
    (path,) = live_files(run.lake, "results")
    path.write_bytes(b"PAR1 no PAR1")

    with pytest.raises(ViewError, match=f"view `raw_results`: .*{path.name}"):
        open_lake(run.lake)


def test_a_file_of_another_program_is_named(run):
    run.result(run.plan())
    run.mirror()
    foreign = live_files(run.lake, "results")[0].with_name("foreign.parquet")
    duckdb.execute(f"copy (select 1 as run_id) to '{foreign}'")

    with pytest.raises(SchemaError, match=r"foreign\.parquet: was not written by benchlake"):
        open_lake(run.lake)


def test_files_of_the_first_layout_say_what_supersedes_what(tmp_path):
    lake = lake_of(tmp_path)
    source = next(
        path for path in (OLD_LAKE, *OLD_LAKE.rglob("lake")) if (path / "results").is_dir()
    )
    shutil.copytree(source, lake)

    with open_lake(lake) as connection:
        wrong = connection.execute(
            "select count(*) from raw_results as later where supersedes is distinct from ("
            "select max(record_no) from raw_results as earlier "
            "where earlier.run_id = later.run_id and earlier.model_id = later.model_id "
            "and earlier.case_id = later.case_id and earlier.repetition = later.repetition "
            "and earlier.record_no < later.record_no)"
        ).fetchall()
        n_rows = connection.execute("select count(*) from raw_results").fetchall()[0][0]

    assert wrong == [(0,)]
    assert n_rows > 0


def test_thresholds_and_failure_types_are_tables_too(tmp_path):
    with open_lake(tmp_path) as connection:
        thresholds = connection.execute("from raw_thresholds")
        names = [column[0] for column in thresholds.description]
        (values,) = thresholds.fetchall()
        kinds = connection.execute("from raw_failure_types").fetchall()

    assert dict(zip(names, values, strict=True)) == Thresholds().model_dump()
    assert len(kinds) == len({kind[0] for kind in kinds}) == len(FAILURES) + 500
    for name, availability, status, cause, retryable, counts in kinds:
        known = classify(name)
        assert (availability, status, cause) == (
            known.availability_status,
            known.status,
            known.cause,
        )
        assert (retryable, counts) == (known.retryable, known.counts_against_model)


def test_thresholds_of_a_project_take_the_place_of_the_packaged_ones(tmp_path):
    connection = raw_tables.connect()
    raw_tables.fill(connection, tmp_path, ["thresholds"], thresholds={"tier_1_from": 0.9})
    rows = connection.execute("select tier_1_from, tier_2_from from raw_thresholds").fetchall()
    connection.close()

    assert rows == [(0.9, Thresholds().tier_2_from)]


def test_reading_loads_neither_pyarrow_nor_the_models(tmp_path):
    code = (
        "from pathlib import Path\n"
        "from analyze.query.session import Session\n"
        "with Session(Path('runs')) as session: session.rows('from model_summary')\n"
    )
    done = run_without(code, "pyarrow", "pydantic", "numpy", "polars", cwd=tmp_path)

    assert done.stderr == ""


def test_a_lake_of_before_clusters_has_none_and_newer_runs_beside_it_do(new_run):
    """Files without the column stay as they are until a compaction gives it to them."""
    for name, cluster in (("old", None), ("young", "django/django")):
        run = new_run(name)
        run.result(run.plan("a", cluster=cluster))
        run.mirror()
    (path,) = files_of(run.lake, "plans", "old")
    table = pq.read_table(path)
    pq.write_table(table.drop_columns("cluster"), path)  # the metadata of the file stays

    def clusters():
        with open_lake(run.lake) as connection:
            create_views(connection)
            return connection.execute(
                "select run_id, cluster from planned_trials order by run_id"
            ).fetchall()

    assert "cluster" not in pq.read_schema(path).names
    assert clusters() == [("old", None), ("young", "django/django")]
    assert summarize_run(run.runs_dir / "old", run.lake).models[0].n_total == 1
    assert Lake(run.lake).compact(now_ms=4_000_000_000_000).problems == []
    (whole,) = live_files(run.lake, "plans")
    assert pq.read_schema(whole).names == TABLES["plans"].names
    assert clusters() == [("old", None), ("young", "django/django")]

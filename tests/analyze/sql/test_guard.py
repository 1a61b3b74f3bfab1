"""Queries that would do more than read the lake: each is refused, and touches no file."""

import os
from pathlib import Path

import duckdb
import pytest

from analyze.lake.raw_tables import connect
from analyze.sql.ask import ask
from analyze.sql.guard import lock
from schemas.errors import QueryFailed, QueryRefused, QueryTooLong, ViewNotFound

HOSTILE = [
    # other statements
    "copy (select 1) to '{out}'",
    "copy (select 1) to '{out}' (format parquet)",
    "copy raw_results from '{secret}'",
    "attach '{out}' as other",
    "attach '{out}' (type duckdb); select 1",
    "install httpfs",
    "load httpfs",
    "force install httpfs from community",
    "pragma database_list",
    "pragma enable_profiling = 'json'",
    "set threads = 1",
    "set global enable_external_access = true",
    "reset lock_configuration",
    "set variable x = (select content from read_text('{secret}'))",
    "call pragma_version()",
    "call enable_logging(storage = 'file', storage_path = '{folder}')",
    "export database '{folder}'",
    "import database '{folder}'",
    "checkpoint",
    "create table t as select 1",
    "create or replace view model_summary as select 1",
    "create secret s (type s3)",
    "create macro m() as 1",
    "drop view raw_results",
    "insert into raw_results values (1)",
    "delete from raw_results",
    "truncate raw_results",
    "update raw_results set passed = true",
    "alter table raw_results add column x int",
    "comment on view model_summary is 'mine'",
    "use memory",
    "vacuum",
    "begin",
    "prepare p as select 1",
    "execute p",
    "explain select 1",
    "explain analyze copy (select 1) to '{out}'",
    # several
    "select 1; select 2",
    "select 1; copy (select 1) to '{out}'",
    "",
    " ; -- nothing",
    # statements inside a query
    "with x as (copy (select 1) to '{out}') select 1",
    "with x as (insert into raw_results values (1) returning *) from x",
    "with x as (delete from raw_results returning *) from x",
    "with x as (update raw_results set passed = true returning *) from x",
    # functions that read files, or more
    "from read_text('{secret}')",
    "from read_blob('{secret}')",
    "from read_csv('{secret}')",
    "from READ_CSV_AUTO('{secret}')",
    "from sniff_csv('{secret}')",
    "from read_json('{secret}')",
    "from read_ndjson_objects('{secret}')",
    "from read_parquet('{secret}')",
    "from parquet_metadata('{secret}')",
    "from read_duckdb('{secret}')",
    "from glob('{folder}/*')",
    "select * from main.read_text('{secret}')",
    "select (select content from read_text('{secret}'))",
    "with x as (from read_text('{secret}')) from x",
    "from '{secret}'",
    'from "{secret}"',
    "from '{folder}/*.csv'",
    "from 's3://bucket/x.parquet'",
    "from 'http://127.0.0.1:9/x.parquet'",
    "summarize '{secret}'",
    "describe from read_csv('{secret}')",
    "from query('from read_text(''{secret}'')')",
    "from query_table('{secret}')",
    "from json_execute_serialized_sql(json_serialize_sql('select 1'))",
    "from enable_logging(storage = 'file', storage_path = '{folder}')",
    "from enable_profiling(save_location = '{out}')",
    "from arrow_scan(1, 2, 3)",
    "from pandas_scan(1)",
    "from duckdb_secrets()",
    "from duckdb_settings()",
    "from register_external_resource('a', 'b')",
    "from checkpoint()",
    "select getenv('HOME')",
    "select getvariable('x')",
    "select current_setting('secret_directory')",
    "select write_log('x')",
    "select sleep_ms(60000)",
    "select nextval('s')",
    "select pg_sleep(60)",
    "select json_serialize_plan('select current_setting(''temp_directory'')')",
    "from pg_settings",
    "select * from pg_catalog.PG_SETTINGS",
    # values from elsewhere
    "select ?",
    "select $1",
    "select * from here",
    # no SQL
    "select",
    "drop",
    "'; drop table results; --",
    "select \x00",
    "select '\udcff'",
    "select 1" + "+1" * 900,
    "select " + "[" * 900 + "1" + "]" * 900,
]

here = [1, 2, 3]
"""A variable of Python: the engine would read it as a table if it were let."""


@pytest.fixture
def lake(run):
    """A lake of one run, with a file beside it that nobody may read."""
    run.result(run.plan())
    run.mirror()
    (run.runs_dir / "secret.csv").write_text("name\ntop secret\n")
    return run


def first_rows(answer):
    return list(answer.rows())


def everything_below(folder: Path) -> set[tuple[str, int]]:
    return {(str(path), path.stat().st_mtime_ns) for path in folder.rglob("*")}


@pytest.mark.parametrize("sql", HOSTILE)
def test_hostile_query_is_refused_in_one_sentence_and_touches_no_file(
    lake, sql, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    text = sql.format(
        out=lake.runs_dir / "out.file", secret=lake.runs_dir / "secret.csv", folder=lake.runs_dir
    )
    before = everything_below(tmp_path)

    with pytest.raises((QueryRefused, QueryFailed, ViewNotFound)) as refused:
        ask(lake.runs_dir, text, first_rows, timeout_s=30)

    assert everything_below(tmp_path) == before
    assert "top secret" not in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    "sql",
    [
        "select n_total from run_summary",
        "from run_summary select n_total;",
        "with t as (select * from trials) select count(*) from t",
        "values (1)",
        "select 1 union all select 1 limit 1",
        "with recursive t (n) as (select 1 union all select n + 1 from t where n < 3) "
        "select min(n) from t",
        "select unnest([1])",
        "select * from range(1, 2)",
        "select 1 -- the end",
        "/* first */ select 1",
        "select count(*) from (describe run_summary) where column_name = 'n_total'",
        "from (pivot (select 1 as a, 'x' as b) on b in ('x') using sum(a)) select x",
    ],
)
def test_queries_that_read_are_let_through(lake, sql):
    assert ask(lake.runs_dir, sql, first_rows, timeout_s=30) == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "table run_summary",
        "describe run_summary",
        "show tables",
        "summarize run_summary",
        "desc run_summary",
    ],
)
def test_looking_around_is_let_through(lake, sql):
    assert len(ask(lake.runs_dir, sql, first_rows, timeout_s=30)) >= 1


@pytest.mark.parametrize(
    "sql",
    [
        "set threads = 1",
        "set memory_limit = '1TB'",
        "set allowed_paths = ['/etc/passwd']",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "reset temp_directory",
        "pragma threads = 1",
    ],
)
def test_a_locked_connection_takes_no_setting(sql, tmp_path):
    with connect() as connection:
        lock(connection, [], tmp_path)

        with pytest.raises(duckdb.Error, match=r"locked|configuration|disabled"):
            connection.execute(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "from read_text('{secret}')",
        "copy (select 1) to '{out}'",
        "attach '{out}' as other",
        "install httpfs",
        "load httpfs",
    ],
)
def test_a_locked_connection_opens_nothing_whatever_the_parser_let_through(sql, tmp_path):
    secret, out = tmp_path / "secret.csv", tmp_path / "out.file"
    secret.write_text("top secret")
    with connect() as connection:
        lock(connection, [], tmp_path / "private")

        with pytest.raises(duckdb.Error):
            connection.execute(sql.format(secret=secret, out=out)).fetchall()

    assert not out.exists()


def test_files_of_the_lake_that_are_not_live_cannot_be_read(lake):
    stray = lake.lake / "results" / "month=2025-11" / "stray.txt"
    stray.write_text("top secret")

    with pytest.raises(QueryFailed, match="is not in the lake"):
        ask(lake.runs_dir, f"from '{stray}'", first_rows, timeout_s=30)


def test_a_query_is_stopped_at_its_time_limit(lake):
    endless = "select count(*) from range(1000000000) a, range(1000) b where a.range % 3 = b.range"

    with pytest.raises(QueryTooLong, match=r"stopped after 0\.2 s"):
        ask(lake.runs_dir, endless, first_rows, timeout_s=0.2)


def test_an_answer_without_end_is_stopped_as_well(lake):
    with pytest.raises(QueryTooLong):
        ask(lake.runs_dir, "from range(100000000000)", first_rows, timeout_s=0.3)


def test_a_query_has_a_private_folder_that_is_removed(lake, tmp_path, monkeypatch):
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    seen = []

    def use(answer):
        seen.extend(private.iterdir())
        return first_rows(answer)

    assert ask(lake.runs_dir, "select 1", use, timeout_s=30) == [(1,)]
    assert [path.name.startswith("benchlake-") for path in seen] == [True]
    assert list(private.iterdir()) == []
    assert not (Path.cwd() / ".tmp").exists()


def test_what_does_not_fit_into_memory_goes_to_the_private_folder(lake, monkeypatch):
    """A sort of 64 MB with half of it to work in: right with the folder, refused without."""
    monkeypatch.setattr("analyze.sql.guard.memory_limit_mb", lambda: 40)
    ordered = "select a from (select range as a, hash(range) as b from range(4000000)) order by b"

    def count(answer):
        return sum(1 for _ in answer.rows())

    assert ask(lake.runs_dir, ordered, count, timeout_s=60) == 4_000_000


def test_what_can_go_nowhere_is_refused_in_a_sentence(lake, monkeypatch):
    monkeypatch.setattr("analyze.sql.guard.memory_limit_mb", lambda: 40)

    with pytest.raises(QueryFailed, match=r"[Mm]emory") as refused:
        ask(lake.runs_dir, "select len(list(range)) from range(20000000)", first_rows, timeout_s=60)

    assert "\n" not in str(refused.value)


def test_settings_of_the_environment_do_not_show(lake, monkeypatch):
    monkeypatch.setenv("BENCHLAKE_SECRET", "top secret")

    with pytest.raises(QueryRefused):
        ask(lake.runs_dir, "select getenv('BENCHLAKE_SECRET')", first_rows, timeout_s=30)
    assert os.environ["BENCHLAKE_SECRET"] == "top secret"

"""Every mart says the same on a cluster of Spark, from the same files by the same text."""

import math
import re
import shutil

import pytest

from analyze import api
from analyze.contracts import CONTRACTS
from analyze.lake.sync import sync
from analyze.query.catalog import named_by
from analyze.query.session import Session
from analyze.share import open_shared
from analyze.spark import MARTS
from analyze.spark.files import stored_lake, stored_shared_lake
from analyze.spark.guard import check_query
from analyze.spark.views import create_views
from schemas.errors import ConfigError, QueryRefused
from schemas.lake import Join, join, lake_of
from tests.support.analyze_cli import call
from tests.support.lake_rows import seal
from tests.support.made_history import MadeHistory
from tests.support.paths import GOLDEN, ROOT, SAMPLES
from tests.support.run_builder import STARTED_AT_MS
from tests.support.spark_cluster import (
    N_WORKERS,
    cluster_session,
    n_executors,
    plain,
    spark_cluster,
)

pytestmark = pytest.mark.peers

JUDGED = ROOT / "data" / "judged" / "runs"
CLOSE = 1e-12


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    with (
        spark_cluster(tmp_path_factory.mktemp("spark")) as master,
        cluster_session(master) as session,
    ):
        assert n_executors(session) == N_WORKERS == 2
        yield session


def differences(spark, session: Session, marts=MARTS) -> dict[str, str]:
    """Return what differs, by mart: columns, number of rows, or the first value."""
    found = {}
    for mart in marts:
        order = "" if CONTRACTS[mart].is_sorted else f"order by {CONTRACTS[mart].order}"
        relation = session.connection.sql(f"from {mart} {order}")
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


@pytest.fixture
def runs(tmp_path, new_run):
    """A folder of everything.

    The samples; runs that judges decide; runs that began together, one of which renamed a case; a
    made history with steps; and files of the first layout.
    """
    runs_dir = tmp_path / "runs"
    for some in (SAMPLES, JUDGED):
        left_out = shutil.ignore_patterns("lake", "artifacts", "workspaces")
        shutil.copytree(some, runs_dir, ignore=left_out, dirs_exist_ok=True)
    for number, run_id in enumerate(("r1", "r2", "r3")):
        run = new_run(run_id, STARTED_AT_MS + 60_000 * (number // 2))

        def outcome(trial, number=number):
            case_id, repetition = trial.case_id, trial.repetition
            if (case_id, repetition) == ("c", number):
                return None
            if (case_id, number) == ("b", 2):
                return "timeout"
            return {"passed": (number + repetition) % 2 == 0, "cost_usd": 0.1 * number}

        cases = "abc" if number < 2 else "abd"
        run.night(cases, outcome, repetitions=2, plan={"expected_tools": ("free",)})
    assert sync(runs_dir).problems == ()
    lake = lake_of(runs_dir)
    join(lake, "smoke", [Join("c", "d"), Join("of-no-run", "of-none-either")], "person")
    seal(lake, MadeHistory())
    shutil.copytree(GOLDEN / "lake_layout_1" / "runs" / "lake", lake, dirs_exist_ok=True)
    return runs_dir


@pytest.fixture
def few(tmp_path, new_run):
    """Runs that judges decide, one that nobody judged, and steps."""
    runs_dir = tmp_path / "runs"
    shutil.copytree(JUDGED, runs_dir, ignore=shutil.ignore_patterns("lake", "workspaces"))
    new_run("r1", STARTED_AT_MS).night("ab")
    assert sync(runs_dir).problems == ()
    seal(lake_of(runs_dir), MadeHistory())
    return runs_dir


def test_every_mart_is_the_same_on_a_cluster(spark, runs):
    assert api.spark(spark, runs, kept=True) == MARTS
    with Session(runs) as session:
        found = differences(spark, session)
        n_rows = {mart: len(session.rows(f"from {mart}")) for mart in MARTS}
        ((n_renamed,),) = session.rows(
            "select count(*) from raw_results semi join raw_recorded_results as written "
            "using (run_id, record_no) where run_id = 'r1' and case_id = 'd'"
        )
        ((n_decided,),) = session.rows(
            "select count(*) from raw_results as said join raw_recorded_results as written "
            "using (run_id, record_no) where said.passed is distinct from written.passed"
        )
        ((n_superseding,),) = session.rows(
            "select count(supersedes) from raw_results where run_id = 'old-run-000001'"
        )

    assert found == {}
    assert [mart for mart, n in n_rows.items() if n == 0] == []
    assert n_renamed > 0
    assert n_decided > 0
    assert n_superseding > 0


def test_the_page_of_spark_shows_what_a_session_does(spark, tmp_path, new_run):
    new_run("r1", STARTED_AT_MS).night("ab").mirror()
    url = f"file://{tmp_path}/shared"
    assert call("push", url, "--runs", tmp_path / "runs").code == 0
    code, _ = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "spark.md").read_text(), re.DOTALL
    )
    names = {"session": spark}
    assert 'api.spark(session, "runs")  # or lake="s3://team/lake"' in code
    exec(code.replace('"runs"', f'lake="{url}"'), names)

    assert names["marts"] == MARTS == api.MARTS
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    with Session(tmp_path / "runs") as lake:
        (began,) = lake.rows("select started_at from runs")
    assert list(map(tuple, spark.sql("select started_at from runs").collect())) == [began]
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    with pytest.raises(ConfigError, match=f"no run in {url} was judged by it"):
        api.spark(spark, lake=url, evaluation_profile="strict")
    assert [row.run_id for row in names["worst"].collect()] == ["r1"]


def test_judges_that_are_asked_for_decide_on_a_cluster_too(spark, few):
    stored = stored_lake(lake_of(few))
    create_views(spark, stored, named_by("results"), evaluation_profile="strict", kept=True)
    verdicts = []
    for profile in (None, "strict"):
        with Session(few, evaluation_profile=profile) as session:
            verdicts.append(session.rows("from results order by run_id, record_no"))
            found = differences(spark, session, ["results"])

    assert found == {}
    assert verdicts[0] != verdicts[1]


def test_a_shared_lake_is_read_where_it_is(spark, tmp_path, few):
    url = f"file://{tmp_path}/shared"
    assert call("push", url, "--runs", few).code == 0
    assert call("label", "r1", "kept", "--runs", few).code == 0
    assert call("push", "r1", url, "--runs", few).code == 0
    some = ("runs", "results", "steps")
    stored = stored_shared_lake(open_shared(url))
    create_views(spark, stored, named_by(" ".join(some)), kept=True)
    assert call("pull", url, "--runs", tmp_path / "pulled").code == 0
    with Session(tmp_path / "pulled") as session:
        assert differences(spark, session, some) == {}
        assert len(session.rows("from results where run_id = 'r1'")) > 0
        assert session.rows("select labels from runs where run_id = 'r1'") == [(["kept"],)]


def test_files_of_a_shared_lake_are_read_as_the_page_has_it(spark, tmp_path, new_run):
    for number in range(3):
        new_run(f"r{number}", STARTED_AT_MS + number * 60_000).night("ab").mirror()
    url = f"file://{tmp_path}/shared"
    for number in range(3):
        assert call("push", f"r{number}", url, "--runs", tmp_path / "runs").code == 0
    page = (ROOT / "docs" / "sharing.md").read_text()
    *_, code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {"spark": spark}
    exec(code.replace("/mnt/lake", f"{tmp_path}/shared"), names)

    rows = names["results"].groupBy("run_id", "month").count().collect()
    assert sorted(map(tuple, rows)) == [(f"r{n}", "2025-11", 2) for n in range(3)]


READING = (
    "select run_id, count(*) from results group by run_id having count(*) > 1 order by 1 limit 3;",
    "with own as (select * from results) select * from own join runs using (run_id)",
    "select explode(tags), row_number() over (partition by run_id order by case_id) from results",
    "select * from range(3) union all values (1)",
    "select (select max(n_planned) from runs), exists (select 1 from runs where run_id = 'a')",
    "select * from results tablesample (10 percent) lateral view explode(tags) as tag",
    "from runs |> where run_id = 'a' |> select run_id",
    "describe model_summary",
    "describe select 1",
    "show columns in results",
    "show tables",
)
OTHERS = (
    "",
    " ; ",
    "drop view results",
    "insert into results select * from results",
    "create table a as select 1",
    "set spark.sql.ansi.enabled = false",
    "cache table results",
    "add jar '/tmp/a.jar'",
    "explain select 1",
    "begin select 1; end",
    "select transform(run_id) using 'cat' from results",
    "select * from parquet.`/etc`",
    "with own as (select * from csv.`/etc/passwd`) select * from own",
    "select * from runs where run_id in (select _c0 from text.`/etc/passwd`)",
    "select (select max(value) from text.`/etc/passwd`)",
    "select * from identifier('text.`/etc/passwd`')",
    "describe select * from text.`/etc/passwd`",
    "select reflect('java.lang.System', 'getenv', 'HOME')",
    "select max(run_id) from runs having java_method('a', 'b') is null",
    "select * from read_files('/etc')",
    "select * from python_udtf(1)",
)


@pytest.mark.parametrize("sql", READING)
def test_what_reads_the_lake_is_let_through(spark, sql):
    check_query(spark, sql)


@pytest.mark.parametrize("sql", OTHERS)
def test_what_does_anything_else_is_refused(spark, sql):
    with pytest.raises(QueryRefused):
        check_query(spark, sql)

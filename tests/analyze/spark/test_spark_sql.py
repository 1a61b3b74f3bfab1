"""`analyze spark-sql` as people type it: a process that starts Spark, answers, and ends it."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pyarrow.parquet as pq
import pytest

from tests.support.analyze_cli import call, process
from tests.support.paths import ROOT
from tests.support.run_builder import STARTED_AT_MS
from tests.support.spark_cluster import SHORT_LIVED, need_spark

pytestmark = pytest.mark.peers

FEW = ("--conf", f"spark.driver.extraJavaOptions={SHORT_LIVED}", "--master", "local[2]")
QUESTION = "select case_id as a, case_id as a, started_at, passed, cost_usd, tags from results"

LONG = "select sum(a.id) from range(1000000000) as a cross join range(1000000000) as b"


@pytest.fixture
def runs(tmp_path, new_run):
    new_run("r1", STARTED_AT_MS).night(
        "ab", lambda _: {"passed": True, "cost_usd": 0.1}, repetitions=2
    )
    call("sync", "--runs", tmp_path / "runs")
    return tmp_path / "runs"


def ask(tmp_path, *args):
    need_spark()
    return process("spark-sql", *args, *FEW, cwd=tmp_path)


def test_an_answer_is_that_of_the_other_engine_and_nothing_else_is_said(tmp_path, runs):
    question = f"{QUESTION} order by case_id, repetition"
    done = ask(tmp_path, question, "--json")

    assert (done.code, done.err) == (0, "")
    assert done.out == call("sql", question, "--runs", runs, "--json").out
    assert '"a_2": "a"' in done.out
    assert not (tmp_path / "spark-warehouse").exists()


def test_a_shared_lake_is_asked_where_it_is_and_the_answer_goes_to_a_file(tmp_path, runs):
    url = f"file://{tmp_path}/shared"
    assert call("push", url, "--runs", runs).code == 0
    done = ask(tmp_path, QUESTION, "--lake", url, "-o", tmp_path / "answer.parquet")

    assert done.code == 0, done.err
    assert done.out == ""
    assert done.err.endswith("of parquet\n")
    call("sql", QUESTION, "--runs", runs, "-o", tmp_path / "own.parquet")
    found, own = (pq.read_table(tmp_path / name) for name in ("answer.parquet", "own.parquet"))
    assert found.schema.types == own.schema.types
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, own.to_pylist()))


def test_a_mistake_is_one_line(tmp_path, runs):
    done = ask(tmp_path, "select passd from results", "--no-sync")

    assert (done.code, done.out) == (2, "")
    assert done.err == "error: there is no column `passd`; did you mean `passed`?\n"


@pytest.mark.parametrize("end", ["timeout", "Ctrl-C"])
def test_a_query_that_is_stopped_leaves_no_spark_behind(tmp_path, runs, end):
    need_spark()
    limit = ("--timeout", "8") if end == "timeout" else ()
    command = [*(sys.executable, "-m", "analyze", "spark-sql", LONG), "--no-sync", *FEW, *limit]
    env = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as asked:
        java = wait_for_java(asked.pid)
        if end == "Ctrl-C":
            time.sleep(3)
            asked.send_signal(signal.SIGINT)
        out, err = asked.communicate(timeout=40)

    assert asked.returncode == (1 if end == "timeout" else 130), err
    assert out == ""
    assert err.count(" 8 s") == err.count("\n") == (end == "timeout")
    assert not java.is_running()
    assert [path for path in tmp_path.iterdir() if path.name.startswith("benchlake-")] == []


def wait_for_java(pid):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for child in psutil.Process(pid).children(recursive=True):
            if child.name() == "java":
                return child
        time.sleep(0.1)
    pytest.fail("no JVM was started")


def test_what_is_missing_is_named_with_what_brings_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    done = call("spark-sql", "select 1", "--runs", tmp_path)

    assert done.code == 2
    assert "pip install 'benchlake[spark]'" in done.err
    assert "a Java runtime, version 17 or later" in done.err


def test_a_java_that_does_not_start_is_told_in_its_words(tmp_path, runs):
    need_spark()
    wrong = ("--conf", "spark.driver.memory=1x")
    done = process("spark-sql", "select 1", *wrong, "--no-sync", cwd=tmp_path)

    assert done.code == 1
    assert done.err.startswith("error: Spark did not start at local[*]: ")
    assert done.err.count("\n") == 1


def test_what_is_asked_wrongly_starts_no_spark(tmp_path, runs):
    both = call("spark-sql", "select 1", "--runs", runs, "--lake", f"file://{tmp_path}/shared")
    setting = call("spark-sql", "select 1", "--conf", "executor=1")
    forms = call("spark-sql", "select 1", "--json", "--format", "csv")

    assert both.code == setting.code == forms.code == 2
    assert "exclude each other" in both.err
    assert "`--conf`: is no setting of Spark; found executor=1" in setting.err
    assert "--json and --format csv exclude each other" in forms.err

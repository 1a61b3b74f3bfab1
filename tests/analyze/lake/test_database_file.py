"""The file of `analyze open`, read by the DuckDB that people have: older than our engine."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest

from analyze.lake.sync import sync
from analyze.query.catalog import EVERYTHING
from schemas.lake import Join, join, lake_of
from tests.support.analyze_cli import call
from tests.support.paths import SAMPLES, TOOLS

pytestmark = pytest.mark.peers

OLDER = TOOLS / "duckdb" / "bin"

COUNTS = """
import json, sys, duckdb
file, names = sys.argv[1], json.load(sys.stdin)
with duckdb.connect(file, read_only=True) as client:
    rows = {name: client.execute(f"from {name}").fetchall() for name in names}
    meanings = client.execute(
        "select count(comment) from duckdb_columns() where not internal"
    ).fetchone()
print(json.dumps([duckdb.__version__, {name: len(of) for name, of in rows.items()}, meanings[0]]))
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A database file over the samples, with a case that was renamed, which is a table of it."""
    if not any(TOOLS.glob(".duckdb-*")):
        why = "needs older versions of DuckDB: make duckdb"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    folder = tmp_path_factory.mktemp("opened")
    shutil.copytree(SAMPLES, folder / "runs", ignore=shutil.ignore_patterns("lake", "artifacts"))
    sync(folder / "runs")
    suite_id, case_id = rows(folder, "select suite_id, case_id from results order by 1, 2 limit 1")
    join(lake_of(folder / "runs"), suite_id, [Join(case_id, f"{case_id}-again")], "person")
    done = call("open", "--db", folder / "bench.duckdb", "--runs", folder / "runs")
    assert done.code == 0, done.err
    return folder / "bench.duckdb"


def rows(folder, query):
    done = call("sql", query, "--json", "--runs", folder / "runs")
    return json.loads(done.out)[0].values()


def count(file: Path) -> tuple[dict[str, int], int]:
    """Return the rows of each view as our own engine reads them, and the columns with a meaning."""
    with duckdb.connect(file, read_only=True) as client:
        found = {name: len(client.execute(f"from {name}").fetchall()) for name in EVERYTHING}
        (meanings,) = client.execute(
            "select count(comment) from duckdb_columns() where not internal"
        ).fetchall()
    return found, meanings[0]


def test_the_oldest_engine_that_we_promise_reads_every_view_of_a_database_file(file):
    done = subprocess.run(
        [OLDER / "python", "-I", "-c", COUNTS, file],
        input=json.dumps(sorted(EVERYTHING)),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-2_000:]
    version, found, meanings = json.loads(done.stdout)
    assert version == "1.1.3"
    assert (found, meanings) == count(file)
    assert found["results"] > 0


def test_the_command_line_of_the_registry_reads_a_database_file(file):
    queries = "select count(*) as n from results; select count(*) as n from model_summary;"
    attach = f"attach '{file}' as bench (read_only); select count(*) as n from bench.results;"
    asked = [
        subprocess.run(
            [OLDER / "duckdb", "-json", *where],
            input=text,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        for where, text in ((["-readonly", file], queries), ([], attach))
    ]

    found, _ = count(file)
    assert [one.stderr for one in asked] == ["", ""]
    counted = [json.loads(line)[0]["n"] for one in asked for line in one.stdout.splitlines()]
    assert counted == [found["results"], found["model_summary"], found["results"]]

"""`analyze views`, `analyze open` and the data dictionary: what there is to ask."""

import json
import os

import duckdb
import pytest

from analyze.lake.raw_tables import connect, declared
from analyze.query import dictionary
from analyze.query.catalog import EVERYTHING, NAMES, create_views, named_in
from analyze.query.dictionary import all_pages, page_of
from schemas.errors import ViewNotFound
from schemas.lake.rows.tables import lake_document
from tests.support.analyze_cli import call, forked
from tests.support.open_lake import PORTABLE
from tests.support.paths import ROOT


@pytest.fixture
def command(run, tmp_path, monkeypatch):
    run.result(run.plan())
    run.mirror()
    monkeypatch.chdir(tmp_path)

    return call


def test_every_view_is_listed_with_its_grain(command):
    done = command("views")

    assert (done.code, done.err) == (0, "")
    for name in EVERYTHING:
        assert f"  {name} " in done.out
    listed = json.loads(command("views", "--json").out)
    assert {view["name"] for view in listed} == EVERYTHING
    assert all(view["grain"].startswith("One row") for view in listed)


def test_a_view_says_what_its_columns_mean(command):
    done = command("views", "model_summary", "--sql")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("model_summary (marts)\nOne row per ")
    assert "BIGINT" in done.out
    assert "select" in done.out
    page = json.loads(command("views", "MODEL_SUMMARY", "--json").out)
    assert page["name"] == "model_summary"
    assert {"name", "type", "meaning"} == page["columns"][0].keys()


def test_a_view_is_printed_for_other_engines(command):
    done = command("views", "model_summary", "--portable")

    assert (done.code, done.err) == (0, "")
    assert "percentile_cont(0.95) within group (order by e2e_rank)" in done.out
    assert "quantile_cont" not in done.out
    assert command("views", "no_such", "--portable").code == 2
    assert command("views", "cells", "--portable", "--json").code == 2


def test_a_script_for_other_engines_makes_every_view(command, tmp_path):
    script = command("views", "--portable").out
    with connect() as connection, declared(connection):
        connection.execute(PORTABLE)
        connection.execute(script)

        views = "select view_name from duckdb_views() where not internal"
        assert {name for (name,) in connection.execute(views).fetchall()} == set(NAMES)
        assert connection.execute("select count(*) from model_summary").fetchall() == [(0,)]


def test_a_view_that_is_not_there_names_the_nearest(command):
    done = command("views", "modelsummary")

    assert (done.code, done.out) == (2, "")
    assert "did you mean `model_summary`?" in done.err
    with pytest.raises(ViewNotFound):
        page_of("nothing like it")


def test_every_column_of_a_mart_has_a_meaning():
    silent = [
        f"{page.name}.{column.name}"
        for page in all_pages().values()
        if page.layer == "marts"
        for column in page.columns
        if not column.meaning
    ]

    assert silent == []


@pytest.mark.parametrize("name", NAMES)
def test_a_view_needs_no_more_than_the_views_its_text_names(name):
    with connect() as connection, declared(connection):
        create_views(connection, only=named_in(f"select * from {name}"), described=False)

        assert connection.execute(f"select count(*) >= 0 from {name}").fetchall() == [(True,)]


def test_the_dictionary_and_the_columns_of_the_lake_are_what_the_models_say(capsys):
    assert dictionary.main(["--check"]) == 0, "run `make schemas`"
    text = (ROOT / "schemas/json/lake.json").read_text(encoding="utf-8")
    assert text == lake_document(), "run `make schemas`"


def test_a_stale_dictionary_is_said_to_be(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(dictionary, "PATH", tmp_path / "page.md")

    assert dictionary.main(["--check"]) == 1
    assert "make schemas" in capsys.readouterr().err
    assert dictionary.main([]) == 0
    assert dictionary.main(["--check"]) == 0
    assert dictionary.main(["--nope"]) == 2


@pytest.mark.peers
def test_a_database_file_shows_every_view_to_any_client(command, tmp_path):
    done = command("open", "--db", "bench.duckdb")

    assert (done.code, done.err) == (0, "")
    assert "analyze open --db bench.duckdb" in done.out
    with duckdb.connect(tmp_path / "bench.duckdb", read_only=True) as client:
        assert client.execute("select n_total from model_summary").fetchall() == [(1,)]
        named = client.execute(
            "select view_name, comment from duckdb_views() where not internal"
        ).fetchall()
        (meaning,) = client.execute(
            "select comment from duckdb_columns() "
            "where table_name = 'model_summary' and column_name = 'n_total'"
        ).fetchall()
    assert dict(named).keys() == EVERYTHING | {"about"}
    assert all(comment for _, comment in named)
    assert meaning[0]
    assert [path.name for path in tmp_path.glob("*.duckdb*")] == ["bench.duckdb"]


@pytest.mark.peers
def test_a_database_file_of_ours_is_refreshed(command, run, tmp_path):
    command("open", "--db", "bench.duckdb")
    run.result(run.plan("c2"))
    run.write()

    done = forked("open", "--db", "bench.duckdb", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    with duckdb.connect(tmp_path / "bench.duckdb", read_only=True) as client:
        assert client.execute("select n_total from model_summary").fetchall() == [(2,)]


@pytest.mark.parametrize("what", ["text", "database", "folder"])
def test_other_files_are_not_overwritten(command, tmp_path, what):
    path = tmp_path / "mine.duckdb"
    if what == "text":
        path.write_text("my thesis")
    elif what == "database":
        with duckdb.connect(path) as mine:
            mine.execute("create table t as select 1 as a")
    else:
        path.mkdir()

    done = command("open", "--db", "mine.duckdb")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("mine.duckdb is there and is ")
    if what == "text":
        assert path.read_text() == "my thesis"
        assert command("open", "--db", "mine.duckdb", "--force").code == 0


def test_a_device_is_never_replaced_by_a_database(command, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    done = command("open", "--db", "pipe", "--force")

    assert (done.code, "is there and is a device or a pipe" in done.err) == (2, True)
    assert pipe.is_fifo()

"""The history as notebooks use it: frames, queries, summaries, pages."""

import polars as pl
import pytest

from analyze.api import MARTS, open_history
from analyze.query.catalog import NAMES
from analyze.sql.guard import bind
from analyze.summary.summarize import summarize_run
from schemas.errors import (
    ConfigError,
    QueryFailed,
    QueryRefused,
    QueryTooLong,
    RunNotFound,
    ViewNotFound,
)
from tests.support import histories
from tests.support.interpreter import run_without

START = 1_763_762_400_000


@pytest.fixture(scope="module")
def runs(shared_run):
    return histories.everything(shared_run, START)


@pytest.fixture(scope="module")
def history(runs):
    with open_history(runs["clean"].runs_dir) as opened:
        yield opened


def test_project_and_folder_of_runs_open_the_same_history(runs, monkeypatch):
    folder = runs["clean"].runs_dir
    monkeypatch.chdir(folder.parent)

    for path in (folder, folder.parent, ".", "runs"):
        with open_history(path) as opened:
            assert opened.runs.collect().height == 6


def test_a_folder_without_runs_is_a_usage_error_that_names_a_way(tmp_path):
    with pytest.raises(ConfigError, match="collect demo"):
        open_history(tmp_path)


def test_every_view_is_a_lazy_frame_under_its_name(history):
    for name in NAMES:
        assert isinstance(getattr(history, name) if name != "runs" else history.runs, pl.LazyFrame)
    assert set(history.views) == set(NAMES)
    assert set(MARTS) <= set(dir(history))
    assert history.view("model_summary").collect().equals(history.model_summary.collect())


def test_unknown_names_say_the_nearest(history):
    with pytest.raises(AttributeError, match="did you mean `model_summary`"):
        history.model_sumary  # noqa: B018
    with pytest.raises(ViewNotFound, match="did you mean `model_summary`"):
        history.view("model_sumary")
    assert not hasattr(history, "_repr_png_")


def test_whole_numbers_are_int64_whatever_the_engine_made_of_them(history):
    frame = history.sql(
        "select sum(n_planned) as total, count(*) as n, 1::integer as i, 2::utinyint as u, "
        "max(e2e_ms_p95) as p from model_summary"
    )

    assert dict(frame.schema) == {
        "total": pl.Int64, "n": pl.Int64, "i": pl.Int64, "u": pl.Int64, "p": pl.Float64,
    }  # fmt: skip
    for name in MARTS:
        kinds = history.view(name).collect_schema().values()
        assert not {pl.Int32, pl.UInt32, pl.Int16, pl.Int8} & set(kinds)


def test_a_sum_too_large_for_int64_is_an_error_and_no_other_number(history):
    with pytest.raises(QueryFailed, match="a frame cannot hold"):
        history.sql("select sum(x) as s from (values (9e18::hugeint), (9e18::hugeint)) as t (x)")


def test_parameters_take_the_place_of_question_marks(history):
    query = "select '?' as mark, ? as a, ? as b, ? as c, run_id -- ?\nfrom runs where run_id = ?"
    frame = history.sql(query, ["it's; drop", None, 1.5, "20251101_080000"])

    assert frame.rows() == [("?", "it's; drop", None, 1.5, "20251101_080000")]


@pytest.mark.parametrize("parameters", [(1,), (1, 2, 3), (float("nan"), 1), (object(), 1)])
def test_parameters_that_do_not_fit_are_refused(parameters):
    with pytest.raises(QueryFailed):
        bind("select ?, ?", parameters)


@pytest.mark.parametrize(
    "query",
    ["create table t (a int)", "copy runs to 'x.csv'", "from 'x.csv'", "select 1; select 2"],
)
def test_a_query_reads_the_lake_and_nothing_else(history, query):
    with pytest.raises((QueryRefused, QueryFailed)):
        history.sql(query)


def test_summary_is_that_of_the_file(history, runs):
    clean = runs["clean"]

    assert history.summary("20251101_080000") == summarize_run(clean.path, clean.lake)
    assert history.summary().run_id == "20251103_100000"
    with pytest.raises(RunNotFound):
        history.summary("20251101_08000")


def test_runs_without_a_folder_or_a_plan_have_a_summary_too(history):
    elsewhere = history.summary("20251020_elsewhere")
    imported = history.summary("20250101_000000")

    assert [group.model_id for group in elsewhere.models] == ["good", "half"]
    assert elsewhere.models[0].resources_before is None
    assert imported.models[0].objective_pass_rate == 0.75


def test_pages_are_text(history):
    assert "20251102_090000" in history.show("previous")
    assert "verdict" in history.show("20251101_080000", "case-1", "good", 1)


def test_a_history_says_what_it_is(history):
    assert repr(history).startswith("History of 6 runs in ")
    assert "model_summary" in repr(history)
    page = history._repr_html_()
    assert page.count("<tr>") == len(MARTS)


def test_polars_is_loaded_when_a_frame_is_asked_for():
    done = run_without("import analyze.api", "polars", "pyarrow", "altair", "numpy")

    assert done.stderr == ""


@pytest.mark.parametrize(
    ("query", "values", "came_to"),
    [
        ("select 3-?", [-5], 8),
        ("select -?", [-5], 5),
        ("select ?-?", [5, -3], 8),
        ("select coalesce(?, 7)", [None], 7),
        ("select ? || ''?''".replace("''", "'"), ["it's"], "it's?"),
        ("select count(*) from (select 1 limit ?)", [1], 1),
        ("select ? in (?)", ["a", "a"], True),
    ],
)
def test_a_value_never_grows_together_with_the_query_around_it(history, query, values, came_to):
    assert history.sql(query, values).item() == came_to


@pytest.mark.parametrize(
    ("query", "values"),
    [("select 1?", [5]), ("select ??", ["a", "b"]), ("select e?", ["\\' as x, 1 --"])],
)
def test_a_place_inside_a_word_is_no_place_for_a_value(history, query, values):
    with pytest.raises((QueryRefused, QueryFailed)):
        history.sql(query, values)


@pytest.mark.parametrize("values", [["\udcff"], []])
def test_text_that_is_no_utf8_is_told_as_a_mistake(history, values):
    with pytest.raises((QueryFailed, QueryRefused)):
        history.sql("select ?" if values else "select '\udcff'", values)


def test_what_goes_wrong_while_rows_come_is_told_as_ours(history):
    with pytest.raises(QueryTooLong):
        history.sql("from range(100000000000)", timeout_s=0.5)
    with pytest.raises(QueryFailed, match="Could not convert"):
        history.sql("select cast(if(range = 500000, 'x', '1') as int) as n from range(1000000)")


@pytest.mark.parametrize(
    "value", ["interval 1 month", "123456789012345678901234567890::hugeint", "union_value(a := 1)"]
)
def test_a_value_that_no_frame_can_hold_is_told_as_a_mistake(history, value):
    with pytest.raises(QueryFailed, match="a frame cannot hold"):
        history.sql(f"select {value} as a")


def test_a_name_that_comes_again_gets_a_number(history):
    assert history.sql("select 1 as a, 2 as a").columns == ["a", "a_2"]


def test_a_query_without_a_time_limit_runs(history):
    assert history.sql("select 1", timeout_s=float("inf")).item() == 1

"""`analyze tiers` and `analyze route` over a history: from records on disk to an answer."""

import json

import pytest

from analyze.query.session import Session
from analyze.render.text import cells
from tests.support import histories
from tests.support.analyze_cli import call, forked

pytestmark = pytest.mark.usefixtures("warm_engines")

START = 1_763_762_400_000


@pytest.fixture(scope="module")
def history(shared_run):
    return histories.everything(shared_run, START)["clean"].runs_dir


def tiers(history, *args):
    done = call("tiers", *args, "--runs", history, "--json")
    assert done.code == 0
    return {row["model"]: row for row in json.loads(done.out)}


def test_every_model_has_its_rate_interval_and_tier(history):
    rows = tiers(history)
    good, half = rows["acme/good"], rows["acme/half"]

    assert (good["tier"], good["tier_label"]) == (1, "Tier 1 (Tool-Capable)")
    assert (good["tier_confident"], good["more_cases"]) == (True, 0)
    assert (good["n_trials"], good["n_cases"], good["n_runs"]) == (127, 30, 3)
    assert good["ci95"]["method"] == "wilson_shrunk"
    assert (half["thinking_level"], half["tier_confident"]) == ("low", False)
    assert half["more_cases"] > 0


def test_a_model_that_never_had_a_tool_is_unrated_and_sixteen_cases_away(history):
    local = tiers(history)["llama3.2:3b"]

    assert (local["tier"], local["tier_label"], local["tier_confident"]) == (None, None, None)
    assert local["more_cases"] == 16


def test_tiers_of_single_runs_count_their_trials_alone(history):
    rows = tiers(history, "20251025_080000", "20251020_elsewhere")

    assert rows["acme/good"]["n_trials"] == 7
    assert rows["acme/good"]["tier_confident"] is False
    assert "llama3.2:3b" not in rows


def test_rates_are_those_of_the_view(history):
    rows = tiers(history, "all")
    with Session(history) as session:
        view = session.rows("select model, n_tool_trials, n_cases, tool_use_rate, tier from tiers")

    assert {
        model: (row["n_trials"], row["n_cases"], row["tool_use_rate"], row["tier"])
        for model, row in rows.items()
    } == {model: tuple(rest) for model, *rest in view}


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_table_fits_the_terminal(history, columns):
    done = call("tiers", "--runs", history, columns=columns)

    table = done.out.partition("\n\n")[0]
    assert max(map(cells, table.splitlines())) <= columns
    assert "\x1b" not in done.out
    if columns == 200:
        assert "1 (Tool-Capable)" in table
        assert "no, +16" in table


def test_route_names_the_only_model_that_may_have_tools(history):
    done = call("route", "--need", "tool_use", "--runs", history)

    assert done.code == 0
    assert "use: acme/good (openrouter)" in done.out


def test_route_that_finds_nothing_is_bad_news_with_the_nearest_miss(history):
    done = call("route", "--max-cost", "0.5", "--min-quality", "0.99", "--runs", history)

    assert done.code == 1
    assert "nothing fits; nearest to each need:" in done.out
    assert "cost: acme/" in done.out


def test_route_by_a_suite_counts_its_trials_alone(history):
    done = call("route", "--suite", "imported", "--runs", history, "--json")
    (model,) = json.loads(done.out)["models"]

    assert (model["model"], model["n_measured"]) == ("llama3.2:3b", 4)
    assert call("route", "--suite", "impored", "--runs", history).code == 2


def test_latency_is_the_percentile_over_all_runs_where_enough_support_it(history):
    done = call("route", "--max-latency", "600", "--runs", history, "--json")
    models = {model["model"]: model for model in json.loads(done.out)["models"]}

    assert done.code == 0
    assert models["acme/good"]["n_latency"] == 127
    assert models["acme/good"]["e2e_p95_ms"] == pytest.approx(512.7)
    state = {r["need"]: r["state"] for r in models["llama3.2:3b"]["reasons"]}
    assert state["latency"] == "unknown"


@pytest.mark.parametrize("wrong", [("--min-quality", "80"), ("--max-cost", "-1"), ("--need", "x")])
def test_impossible_needs_are_usage_errors(history, wrong):
    assert call("route", *wrong, "--runs", history).code == 2


def test_as_processes_of_their_own(history):
    assert forked("tiers", "latest", cwd=history.parent).code == 0
    assert forked("route", "--need", "tool_use", "--json", cwd=history.parent).code == 0
    assert forked("route", "--max-cost", "0", cwd=history.parent).code == 1

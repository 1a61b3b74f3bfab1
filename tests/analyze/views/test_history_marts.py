"""Marts over several runs, from folders on disk: pairs, flips, tiers; and what no mart may be."""

import pytest

from analyze.contracts.history import CaseMatrixRow, CellHistoryRow, CellsRow, FlipsRow, PairsRow
from analyze.contracts.models import (
    CostQualityRow,
    GroupToolCountsRow,
    LatencyHistogramRow,
    TiersRow,
    ToolUseRow,
)
from analyze.lake.raw_tables import connect, fill
from analyze.lake.sync import sync
from analyze.query.catalog import VIEWS, create_views, name_of, read_view
from analyze.stats.rates import tier_of
from tests.support.made_history import MadeHistory

MINUTE_MS = 60_000
START_MS = 1_763_762_400_000
OWN = (
    CellsRow,
    CellHistoryRow,
    PairsRow,
    FlipsRow,
    CaseMatrixRow,
    ToolUseRow,
    GroupToolCountsRow,
    TiersRow,
    LatencyHistogramRow,
    CostQualityRow,
)


@pytest.fixture(scope="module")
def made():
    with MadeHistory(seed=3).connect() as connection:
        yield connection


@pytest.fixture(scope="module")
def shuffled():
    """The same, its records in another order, read by one thread."""
    with MadeHistory(seed=3).connect(shuffled=9, threads=1) as connection:
        yield connection


@pytest.fixture
def history(new_run):
    """A maker of runs of one case each, and a connection with their views."""

    def make(*runs):
        for run_id, minute, case_id, verdicts, fields in runs:
            run = new_run(run_id, started_at_ms=START_MS + minute * MINUTE_MS)
            outcomes = [None if one == "missing" else {"passed": one} for one in verdicts]
            run.night({case_id: outcomes}, plan=fields)
        sync(run.runs_dir)
        connection = connect()
        connections.append(connection)
        fill(connection, run.lake)
        create_views(connection, described=False)
        return connection

    connections = []
    yield make
    for connection in connections:
        connection.close()


def test_the_previous_run_is_the_last_that_planned_the_cell(history):
    views = history(
        ("a", 0, "c", [True], {}),
        ("b", 1, "other", [True], {}),
        ("c", 2, "c", [False], {}),
    )

    pairs = read_view(views, PairsRow)

    assert [(pair.run_id, pair.previous_run_id) for pair in pairs] == [("c", "a")]
    assert (pairs[0].is_same_case, pairs[0].passed_rate_difference) == (True, -1.0)


def test_a_bin_holds_its_lower_end_and_not_its_upper_one(run):
    times = (0, 4, 5, 99, 100, 149, 150, 999, 1_000, 9_999, 10_000)
    for number, time_ms in enumerate(times):
        run.result(run.plan(f"c{number}"), e2e_ms=time_ms, ttft_ms=None)
    run.write()
    sync(run.runs_dir)
    with connect() as connection:
        fill(connection, run.lake)
        create_views(connection, described=False)
        rows = read_view(connection, LatencyHistogramRow, "metric = 'e2e_ms'")

    assert [(row.bin_from_ms, row.bin_to_ms, row.n_trials) for row in rows] == [
        (0, 5, 2), (5, 10, 1), (95, 100, 1), (100, 150, 2), (150, 200, 1), (950, 1_000, 1),
        (1_000, 1_500, 1), (9_500, 10_000, 1), (10_000, 15_000, 1),
    ]  # fmt: skip


def test_runs_with_the_same_start_stand_in_order_of_their_ids(history):
    views = history(
        ("z", 0, "c", [True], {}),
        ("b", 5, "c", [True], {}),
        ("a", 5, "c", [False], {}),
    )

    rows = read_view(views, CellHistoryRow)

    assert [(row.run_no, row.run_id) for row in rows] == [(1, "z"), (2, "a"), (3, "b")]
    assert [flip.direction for flip in read_view(views, FlipsRow)] == ["broke", "fixed"]


def test_an_edited_case_is_another_case_under_the_old_name(history):
    views = history(
        ("a", 0, "c", [True], {"case_hash": "a" * 64}),
        ("b", 1, "c", [False], {"case_hash": "b" * 64}),
    )

    assert [pair.is_same_case for pair in read_view(views, PairsRow)] == [False]
    assert read_view(views, FlipsRow) == []
    assert [row.case_hash[0] for row in read_view(views, CaseMatrixRow)] == ["a", "b"]


def test_another_model_or_thinking_level_under_the_same_name_is_another_cell(history):
    views = history(
        ("a", 0, "c", [True], {}),
        ("b", 1, "c", [True], {"thinking_level": "low"}),
        ("c", 2, "c", [True], {"model": "another"}),
    )

    assert read_view(views, PairsRow) == []


def test_a_run_without_any_result_breaks_nothing(history):
    views = history(
        ("a", 0, "c", [True, True], {}),
        ("b", 1, "c", ["missing", "missing"], {}),
    )

    (pair,) = read_view(views, PairsRow)

    assert (pair.n_planned, pair.n_total, pair.n_scored, pair.previous_n_scored) == (2, 0, 0, 2)
    assert (pair.passed_rate_difference, pair.e2e_ms_ratio) == (None, None)
    assert read_view(views, FlipsRow) == []


def test_repetitions_that_disagree_can_flip_and_are_marked(history):
    views = history(
        ("a", 0, "c", [True, True, False], {}),
        ("b", 1, "c", [False, False, False], {}),
    )

    (flip,) = read_view(views, FlipsRow)

    assert (flip.direction, flip.was_unanimous, flip.is_unanimous) == ("broke", False, True)


@pytest.mark.parametrize("contract", OWN, ids=[contract.view for contract in OWN])
def test_rows_fit_their_contract_and_its_order_is_total(made, contract):
    rows = read_view(made, contract)
    keys = ", ".join(part.partition(" ")[0] for part in contract.order.split(", "))

    assert rows
    distinct = f"select count(*) from (select distinct {keys} from {contract.view})"
    assert made.execute(distinct).fetchall() == [(len(rows),)]


@pytest.mark.parametrize("contract", OWN, ids=[contract.view for contract in OWN])
def test_rows_do_not_depend_on_the_order_of_records_or_on_threads(made, shuffled, contract):
    assert read_view(shuffled, contract) == read_view(made, contract)


def test_an_old_folder_has_cells_and_no_case_that_equals_another(made):
    rows = [row for row in read_view(made, CellHistoryRow) if row.run_id == "old"]

    assert rows
    assert {(row.case_hash, row.started_at_ms, row.is_same_case) for row in rows} == {
        (None, None, None)
    }


INVARIANTS = {
    "every planned trial is in one cell": """
        select 1 where (select sum(n_planned) from cells) <> (select count(*) from raw_plans)
    """,
    "every trial with a result is in one cell": """
        select 1 where (select sum(n_total) from cells) <> (select count(*) from trials)
    """,
    "counts nest": """
        from cells where not (
            n_passed <= n_scored and n_scored <= n_total and n_total <= n_planned
            and n_success <= n_ok and n_ok <= n_total and n_first_attempt <= n_success
            and n_latency <= n_success and n_reused <= n_total
        )
    """,
    "a cell with a previous run has a pair, and only such a one": """
        select 1 where (select count(*) from pairs)
            <> (select count(*) from cell_history where previous_run_id is not null)
    """,
    "a pair's previous side is that run's own cell": """
        from pairs left join cells
            on cells.run_id = pairs.previous_run_id and cells.suite_id = pairs.suite_id
            and cells.model_id = pairs.model_id and cells.case_id = pairs.case_id
        where cells.n_passed is distinct from pairs.previous_n_passed
            or cells.n_scored is distinct from pairs.previous_n_scored
            or cells.e2e_ms_mean is distinct from pairs.previous_e2e_ms_mean
            or cells.cost_usd is distinct from pairs.previous_cost_usd
    """,
    "a flip is a pair of the same case": """
        from flips anti join (from pairs where is_same_case) as pairs
            using (run_id, previous_run_id, suite_id, case_id, model_id)
    """,
    "the matrix holds all cells": """
        select 1 where (select sum(n_runs) from case_matrix) <> (select count(*) from cells)
    """,
    "bins hold every latency": """
        select 1 where (select sum(n_trials) from latency_histogram where metric = 'e2e_ms')
            <> (select sum(n_latency) from cells)
    """,
    "bins hold every time to a first token": """
        select 1 where (select sum(n_trials) from latency_histogram where metric = 'ttft_ms')
            <> (select sum(n_ttft) from cells)
    """,
    "a frontier has somebody on it where prices are known": """
        select run_id from cost_quality group by run_id
        having count(is_on_frontier) > 0 and not bool_or(is_on_frontier)
    """,
    "costs of groups are those of cells": """
        from (select run_id, model_id, sum(cost_nano_usd) as cost from cells group by all) as own
        join cost_quality using (run_id, model_id)
        where cost_quality.cost_nano_usd is distinct from own.cost
    """,
}


@pytest.mark.parametrize("rule", INVARIANTS)
def test_no_row_breaks_a_rule(made, rule):
    assert made.execute(INVARIANTS[rule]).fetchall() == []


def test_tiers_follow_the_rule_of_the_summary(made):
    rows = read_view(made, TiersRow)

    assert {row.tier for row in rows} - {None}
    assert [row.tier for row in rows] == [tier_of(row.tool_use_rate) for row in rows]
    counted = read_view(made, GroupToolCountsRow)
    assert sum(row.n_tool_trials for row in rows) == sum(
        row.n_cases * row.n_tool_trials for row in counted
    )


@pytest.mark.parametrize("view", [view for view in VIEWS if "/int_" in view or "marts/" in view])
def test_no_column_is_of_a_type_that_other_engines_read_differently(empty_views, view):
    rows = empty_views.execute(f"select column_type from (describe {name_of(view)})").fetchall()

    types = {kind for (kind,) in rows}
    assert not {kind for kind in types if kind.startswith(("HUGEINT", "DECIMAL", "INTEGER"))}

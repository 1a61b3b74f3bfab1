"""The rules of exactness, each by its number, over a made history and over runs on disk.

Rule 4 (a line is validated strictly before a bulk reader sees it) and the refusal of NaN and of
double keys on a line are `tests/schemas/lake/test_mirror.py` and
`tests/schemas/run/test_round_trip.py`.
"""

import math
import re
from importlib.resources import files
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from analyze.contracts import CONTRACTS
from analyze.contracts.history import CaseMatrixRow, CellHistoryRow, CellsRow
from analyze.contracts.models import (
    CostQualityRow,
    ModelSummaryRow,
    RunSummaryRow,
    TiersRow,
    ToolUseRow,
)
from analyze.contracts.trials import ModelsRow
from analyze.query.catalog import VIEWS, create_views, name_of, portable_sql_of, read_view, sql_of
from schemas.base import MAX_QUANTITY
from schemas.lake.rows.tables import TABLES, RunRow
from tests.support.made_history import MadeHistory
from tests.support.open_lake import PORTABLE, open_lake

pytestmark = pytest.mark.peers

SOURCES = [
    path
    for package in ("analyze", "schemas")
    for path in Path(str(files(package))).rglob("*")
    if path.suffix in {".py", ".sql"}
]
PLANNED = {
    *("run_id", "suite_id", "provider", "model", "thinking_level", "model_id", "case_id"),
    *("case_hash", "run_no", "started_at_ms", "first_started_at_ms", "last_started_at_ms"),
    "started_at",
    *("n_planned", "n_models", "n_runs", "tier_1_from", "tier_2_from"),
}
"""Columns that are known of a trial that never ran."""

PLAIN = re.compile(r"^(VARCHAR|BIGINT|DOUBLE|BOOLEAN|TIMESTAMP)(\[\])?$|^STRUCT\([^()]*\)(\[\])?$")


@pytest.fixture(scope="module")
def history():
    return MadeHistory(seed=5)


@pytest.fixture(scope="module")
def made(history):
    with history.connect() as connection:
        yield connection


@pytest.fixture(scope="module")
def shuffled(history):
    """The same rows in two other orders, read by one thread and by four."""
    with history.connect(7, 1) as by_one, history.connect(8, 4) as by_four:
        yield by_one, by_four


def columns_of(connection, view):
    """Return the names and types of a view's columns."""
    return dict(
        connection.execute(f"select column_name, column_type from (describe {view})").fetchall()
    )


def test_rule_1_quantiles_are_linear(made):
    for *group, p50, p95, p99 in made.execute(
        "select run_id, model_id, e2e_ms_p50, e2e_ms_p95, e2e_ms_p99 from model_summary"
    ).fetchall():
        values = made.execute(
            "select e2e_ms from trials where run_id = ? and model_id = ? "
            "and is_success and is_measured and e2e_ms is not null",
            group,
        ).fetchall()
        expected = np.quantile([value for (value,) in values], [0.5, 0.95, 0.99], method="linear")
        assert (p50, p95, p99) == pytest.approx(expected.tolist(), rel=1e-12)


def test_rule_1_no_quantile_is_approximate():
    for path in SOURCES:
        text = path.read_text(encoding="utf-8").lower()
        assert not re.search(r"approx_quantile|approx_percentile|percentile_approx", text), path


def test_rule_1_both_forms_of_a_view_with_quantiles_agree(made):
    marts = (view for view in VIEWS if view.startswith("marts/"))
    twins = [view for view in marts if portable_sql_of(view) != sql_of(view)]
    assert twins
    made.execute(PORTABLE)
    for view in twins:
        own = made.sql(f"from {name_of(view)}").to_arrow_table().to_pylist()
        other = made.sql(portable_sql_of(view)).to_arrow_table().to_pylist()

        assert len(own) == len(other) > 0
        for left, right in zip(own, other, strict=True):
            assert left.keys() == right.keys()
            for name, value in left.items():
                if isinstance(value, float):
                    assert right[name] == pytest.approx(value, rel=1e-12, abs=0), name
                else:
                    assert right[name] == value, name


@pytest.mark.parametrize("view", [name_of(view) for view in VIEWS])
def test_rule_2_times_tokens_and_counts_are_integers(view, made):
    for name, kind in columns_of(made, view).items():
        whole = name.startswith("n_") or name.endswith(("_ms", "_tokens", "_nano_usd", "_no"))
        if whole:
            assert kind == "BIGINT", (name, kind)


@pytest.mark.parametrize("view", CONTRACTS)
def test_rule_2_nothing_depends_on_the_order_of_rows_or_on_threads(view, shuffled, made):
    contract = CONTRACTS[view]
    names = ", ".join(f'"{name}"' for name in contract.model_fields)
    question = f"select {names} from {view} order by {contract.order}"
    expected = made.execute(question).fetchall()

    for connection in shuffled:
        assert connection.execute(question).fetchall() == expected


def test_rule_2_money_adds_up_to_the_last_nano_dollar(run):
    for n in range(10):
        run.result(run.plan(f"c{n}"), cost_usd=0.1, cost_source="computed")

    assert sum([0.1] * 10) != 1.0
    assert run.group().cost_usd == 1.0


def test_rule_2_a_cost_is_the_nearest_whole_number_of_nano_dollars(run):
    costs = {"c0": 1.005e-6, "c1": 1e-9, "c2": 4e-10, "c3": 0.0}
    assert costs["c0"] * 1e9 < 1005, "cutting it off would lose a nano-dollar"
    for case_id, cost_usd in costs.items():
        run.result(run.plan(case_id), cost_usd=cost_usd, cost_source="computed")
    run.mirror()

    with open_lake(run.lake) as connection:
        create_views(connection, described=False)
        found = {row.case_id: row.cost_nano_usd for row in read_view(connection, CellsRow)}
    assert found == {"c0": 1005, "c1": 1, "c2": 0, "c3": 0}


@pytest.mark.parametrize("view", [name_of(view) for view in VIEWS])
def test_rule_3_no_column_has_a_type_that_changes_on_its_way_out(view, made):
    for name, kind in columns_of(made, view).items():
        if name not in {"fingerprint_parts", "model_labels"}:
            assert PLAIN.match(without_inner(kind)), (name, kind)


def without_inner(kind):
    """Return a type with the structs inside of its struct as plain columns, as deep as they go."""
    inner = re.compile(r"(?<=[ (])STRUCT\([^()]*\)(\[\])?")
    while (flat := inner.sub("VARCHAR", kind)) != kind:
        kind = flat
    return kind


def test_rule_3_sums_stay_whole_numbers_in_parquet_and_polars(made, tmp_path):
    path = tmp_path / "model_summary.parquet"
    made.execute(f"copy (from model_summary) to '{path}' (format parquet)").fetchall()

    frame = pl.read_parquet(path)
    for name in ("n_total", "input_tokens", "wall_clock_ms"):
        assert frame.schema[name] == pl.Int64
    (largest,) = made.execute("select max(input_tokens) from model_summary").fetchall()
    assert frame["input_tokens"].max() == largest[0] > 2**32


def test_rule_3_a_sum_may_be_more_than_one_trial_can_have(run):
    for number in range(2):
        at_ms = 1_763_762_400_000 * number  # the clock began at 1970 and was set meanwhile
        run.result(
            run.plan(f"c{number}"),
            input_tokens=MAX_QUANTITY,
            started_at_ms=at_ms,
            ended_at_ms=at_ms + 1,
        )
    run.mirror()

    with open_lake(run.lake) as connection:
        create_views(connection, described=False)
        for contract in (ModelSummaryRow, RunSummaryRow, CellsRow):
            assert (
                sum(row.input_tokens for row in read_view(connection, contract)) == 2 * MAX_QUANTITY
            )
        (row,) = read_view(connection, RunSummaryRow)
    assert row.wall_clock_ms == 1_763_762_400_001 > MAX_QUANTITY


def test_rule_4_no_bulk_reader_of_json_is_used():
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\bread_(nd)?json(_auto|_objects)?\s*\(", text), path


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_rule_5_nan_and_infinity_are_refused_on_write(number, run):
    trial = run.plan()

    with pytest.raises(ValidationError):
        run.result(trial, cost_usd=number)
    with pytest.raises(ValidationError):
        RunRow.model_validate({"max_cost_usd": number})


@pytest.mark.parametrize(
    "contract",
    [
        ModelSummaryRow,
        RunSummaryRow,
        ModelsRow,
        CellsRow,
        CellHistoryRow,
        CaseMatrixRow,
        CostQualityRow,
        ToolUseRow,
        TiersRow,
    ],
    ids=lambda contract: contract.view,
)
def test_rule_5_empty_sums_are_zero_counts_and_null_rates(contract, run):
    run.plan(validator_type=None, expected_tools=("du",))
    run.mirror()
    with open_lake(run.lake) as connection:
        create_views(connection, described=False)
        (row,) = read_view(connection, contract)

    known = PLANNED | ({"n_cases"} if contract is ToolUseRow else set())
    values = {name: value for name, value in row.model_dump().items() if name not in known}
    counts = {name: value for name, value in values.items() if name.startswith("n_")}
    assert set(counts.values()) == {0}
    assert {value for name, value in values.items() if name not in counts} <= {None}


def test_rule_6_null_thinking_levels_are_groups_and_meet_in_joins(made):
    for view, count in (
        ("model_summary", "least(n_total, n_scored)"),
        ("models", "n_total"),
        ("tiers", "n_tool_trials"),
        ("tool_use", "n_tool_trials"),
        ("cost_quality", "n_cost_known"),
        ("pairs", "least(n_total, previous_n_total)"),
    ):
        rows = made.execute(
            f"select thinking_level, max({count}) from {view} "
            "group by thinking_level order by thinking_level nulls first"
        ).fetchall()

        assert [level for level, _ in rows] == [None, "low"], view
        assert all(most > 0 for _, most in rows), f"{view}: a join that loses nulls finds nothing"


SORTED = [
    name
    for view in VIEWS
    if view.startswith("marts/") and CONTRACTS[name := name_of(view)].is_sorted
]


@pytest.mark.parametrize("view", SORTED)
def test_rule_7_rows_come_in_a_total_order(view, shuffled):
    contract = CONTRACTS[view]
    for connection in shuffled:
        found = connection.execute(f"select * from ({sql_of(f'marts/{view}')})").fetchall()
        sorted_by_key = connection.execute(
            f"select * from {view} order by {contract.order}"
        ).fetchall()

        assert found
        assert found == sorted_by_key


def test_rule_7_nothing_is_rounded_in_storage():
    rounding = [
        path.name
        for path in SOURCES
        if path.suffix == ".sql" and re.search(r"\b(round|floor|ceil|trunc)\w*\(", path.read_text())
    ]

    known = ["case_sums.sql", "int_case_outcomes.sql", "int_steps.sql", "stg_results.sql"]
    known += ["stg_judge_iterations.sql", "stg_pair_iterations.sql", "tool_errors.sql"]
    known += ["v_inspect_evals.sql"]
    assert sorted(rounding) == sorted(known), (
        "sums of whole numbers: logarithms and rates times 10^12, and dollars as nano-dollars"
    )


def test_rule_8_run_ids_and_months_stay_text(new_run):
    run = new_run("0012")
    run.result(run.plan(), parsed_output=7)
    run.mirror()

    with open_lake(run.lake) as connection:
        assert connection.execute("select run_id from raw_results").fetchall() == [("0012",)]
        for table in TABLES:
            assert "month" not in columns_of(connection, f"raw_{table}")
    pattern = run.lake / "results" / "month=*" / "*.parquet"
    found = duckdb.execute(
        "select run_id, month from read_parquet(?, hive_partitioning = true, "
        "hive_types_autocast = false)",
        [str(pattern)],
    ).fetchall()
    assert found == [("0012", "2025-11")]


@pytest.mark.parametrize(
    ("value", "text"), [(None, None), (7, "7"), ("7", '"7"'), ({"b": [1]}, '{"b":[1]}')]
)
def test_rule_8_parsed_output_stays_json_text(value, text, new_run):
    run = new_run()
    run.result(run.plan(), parsed_output=value)
    run.mirror()

    with open_lake(run.lake) as connection:
        assert columns_of(connection, "raw_outputs")["parsed_output"] == "VARCHAR"
        assert connection.execute("select parsed_output from raw_outputs").fetchall() == [(text,)]

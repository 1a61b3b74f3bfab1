"""Rows of the views about cells: of one run, beside the run before, and over all runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from analyze.contracts.base import GROUP, STARTED_AT, Columns, view_row
from schemas.base import Count, EpochMillis, Positive, Rate, Unit

Total = Annotated[int, Field(ge=0)]
NanoUsd = Annotated[int, Field(ge=0), Unit("USD / 10^9")]

CELL_ORDER = "suite_id, case_id, provider, model, thinking_level nulls first, model_id, run_no"

SCORED = "Trials with a verdict, reused ones too."
PASSED = "Trials that passed, reused ones too."
PASSED_RATE = "n_passed / n_scored."
LATENCY = "Answered trials of this run itself with a known e2e_ms."
COST = "Sum of their costs, in USD."
NANO_COST = "Sum of their costs, in whole nano-dollars (USD / 10^9)."
SUM = "Sum over trials of this run itself."
SAME_CASE = (
    "Both runs asked the same: equal case_hash. False where one is unknown, which equals nothing"
)

CELL: Columns = {
    "run_id": GROUP["run_id"],
    "started_at_ms": (
        EpochMillis | None,
        "Start of the run, in ms since 1970-01-01 UTC; null: an old folder without results.",
    ),
    "started_at": (datetime | None, STARTED_AT),
    "n_planned": (Positive, "Planned trials."),
    "n_total": (Count, "Trials with a result."),
    "n_ok": (Count, "Trials that the provider served."),
    "n_success": (Count, "Served trials that ended without an error."),
    "n_first_attempt": (
        Count,
        "Answered trials of this run itself that needed one request only.",
    ),
    "n_reused": (Count, "Results taken from an older run."),
    "n_scorable": (Count, "Planned trials that can get a verdict."),
    "n_scored": (Count, SCORED),
    "n_passed": (Count, PASSED),
    "passed_rate": (Rate | None, PASSED_RATE),
    "majority_passed": (
        bool | None,
        "More than half of the verdicts are passes (or failures); null: a tie, or no verdict.",
    ),
    "n_latency": (Count, LATENCY),
    "e2e_ms_total": (Total | None, "Sum of e2e_ms of those trials, in ms."),
    "e2e_ms_mean": (float | None, "Mean e2e_ms of those trials, in ms."),
    "n_ttft": (Count, "Answered trials of this run itself with a known ttft_ms."),
    "ttft_ms_total": (Total | None, "Sum of ttft_ms of those trials, in ms."),
    "ttft_ms_mean": (float | None, "Mean ttft_ms of those trials, in ms."),
    "n_tokens_known": (
        Count,
        "Trials of this run itself that reported input and output tokens.",
    ),
    "input_tokens": (Total | None, SUM),
    "output_tokens": (Total | None, SUM),
    "reasoning_tokens": (Total | None, "Part of output_tokens."),
    "cached_input_tokens": (Total | None, "Part of input_tokens."),
    "n_cost_known": (Count, "Trials of this run itself with a known cost."),
    "cost_nano_usd": (NanoUsd | None, NANO_COST),
    "cost_usd": (float | None, COST),
}
"""One cell of one run: the trials of a case with a model."""

PREVIOUS: Columns = {
    f"previous_{name}": (
        kind,
        text.replace("of this run itself", "of that run itself").removesuffix(".")
        + ", of the previous run.",
    )
    for name, (kind, text) in CELL.items()
}
"""The same of the run before, where there is one."""

PAIR: Columns = {
    "run_no": (Positive, "Place among the runs that planned the cell; from 2 here."),
    "run_id": (str, "The later run."),
    "previous_run_id": (str, "Last run before it that planned the cell."),
}
"""The two runs of a pair."""

CellsRow = view_row(
    "cells",
    "run_id, suite_id, provider, model, thinking_level nulls first, model_id, case_id",
    """
    run_id suite_id provider model thinking_level model_id case_id case_hash started_at_ms
    started_at n_planned n_total n_ok n_success n_first_attempt n_reused n_scorable n_scored
    n_passed passed_rate majority_passed n_latency e2e_ms_total e2e_ms_mean n_ttft ttft_ms_total
    ttft_ms_mean n_tokens_known input_tokens output_tokens reasoning_tokens cached_input_tokens
    n_cost_known cost_nano_usd cost_usd
    """,
    CELL,
)

CellHistoryRow = view_row(
    "cell_history",
    CELL_ORDER,
    """
    suite_id case_id provider model thinking_level model_id run_no run_id started_at_ms started_at
    case_hash n_planned n_total n_reused n_scorable n_scored n_passed passed_rate majority_passed
    n_latency e2e_ms_mean n_cost_known cost_usd previous_run_id previous_started_at_ms
    previous_n_scored previous_n_passed is_same_case
    """,
    CELL,
    run_no=(Positive, "Place among the runs that planned the cell, from 1."),
    previous_run_id=(str | None, "Last run before it that planned the cell; null for the first."),
    previous_started_at_ms=(EpochMillis | None, "Start of that run, in ms since 1970-01-01 UTC."),
    previous_n_scored=(Count | None, PREVIOUS["previous_n_scored"][1]),
    previous_n_passed=(Count | None, PREVIOUS["previous_n_passed"][1]),
    is_same_case=(bool | None, f"{SAME_CASE}; null for the first run."),
)

PairsRow = view_row(
    "pairs",
    CELL_ORDER,
    """
    suite_id case_id provider model thinking_level model_id run_no run_id previous_run_id
    started_at_ms started_at previous_started_at_ms is_same_case n_planned previous_n_planned
    n_total previous_n_total n_reused previous_n_reused n_scorable previous_n_scorable n_scored
    previous_n_scored n_passed previous_n_passed passed_rate previous_passed_rate
    passed_rate_difference n_latency previous_n_latency e2e_ms_mean previous_e2e_ms_mean
    e2e_ms_ratio n_cost_known previous_n_cost_known cost_usd previous_cost_usd
    """,
    PAIR,
    CELL,
    PREVIOUS,
    is_same_case=(bool, f"{SAME_CASE}."),
    previous_passed_rate=(Rate | None, "previous_n_passed / previous_n_scored."),
    passed_rate_difference=(
        float | None,
        "passed_rate - previous_passed_rate; above 0: better than before.",
    ),
    e2e_ms_ratio=(float | None, "e2e_ms_mean / previous_e2e_ms_mean; above 1: slower than before."),
)

FlipsRow = view_row(
    "flips",
    CELL_ORDER,
    """
    suite_id case_id provider model thinking_level model_id case_hash run_no run_id previous_run_id
    started_at_ms started_at previous_started_at_ms direction n_scored n_passed is_unanimous
    previous_n_scored previous_n_passed was_unanimous
    """,
    PAIR,
    CELL,
    PREVIOUS,
    case_hash=(str, "Of the case, the same in both runs."),
    direction=(
        Literal["broke", "fixed"],
        "broke: most passed before and most fail now; fixed: the other way round.",
    ),
    n_scored=(Positive, SCORED),
    is_unanimous=(bool, "All verdicts of the later run agree."),
    previous_n_scored=(Positive, PREVIOUS["previous_n_scored"][1]),
    was_unanimous=(bool, "All verdicts of the previous run agree."),
)

CaseMatrixRow = view_row(
    "case_matrix",
    "suite_id, case_id, case_hash nulls first, "
    "provider, model, thinking_level nulls first, model_id",
    """
    suite_id case_id case_hash provider model thinking_level model_id n_runs first_started_at_ms
    last_started_at_ms n_planned n_total n_reused n_scorable n_scored n_passed passed_rate coverage
    n_latency e2e_ms_mean n_cost_known cost_nano_usd cost_usd
    """,
    CELL,
    case_hash=(
        str | None,
        "Of all that reaches the model or judges it; null: not known, and perhaps different "
        "cases of one name.",
    ),
    n_runs=(Positive, "Runs that planned it."),
    first_started_at_ms=(
        EpochMillis | None,
        "Start of the first of these runs, in ms since 1970-01-01 UTC.",
    ),
    last_started_at_ms=(
        EpochMillis | None,
        "Start of the last of these runs, in ms since 1970-01-01 UTC.",
    ),
    coverage=(Rate | None, "n_scored / n_scorable."),
    n_latency=(Count, "Answered trials with a known e2e_ms, none reused."),
    n_cost_known=(Count, "Trials with a known cost, reused ones left out."),
)

"""Rows of the views about cells: of one run, beside the run before, and over all runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from analyze.contracts.base import STARTED_AT, ViewRow, same_column
from schemas.base import Count, EpochMillis, Positive, Rate, Unit

Total = Annotated[int, Field(ge=0)]
NanoUsd = Annotated[int, Field(ge=0), Unit("USD / 10^9")]

CELL_ORDER = "suite_id, case_id, provider, model, thinking_level nulls first, model_id, run_no"

RUN_START = "Start of the run, in ms since 1970-01-01 UTC; null: an old folder without results."
PLANNED = "Planned trials."
TOTAL = "Trials with a result."
REUSED = "Results taken from an older run."
SCORABLE = "Planned trials that can get a verdict."
SCORED = "Trials with a verdict, reused ones too."
PASSED = "Trials that passed, reused ones too."
PASSED_RATE = "n_passed / n_scored."
MAJORITY = "More than half of the verdicts are passes (or failures); null: a tie, or no verdict."
LATENCY = "Answered trials of this run itself with a known e2e_ms."
E2E_MEAN = "Mean e2e_ms of those trials, in ms."
COST_KNOWN = "Trials of this run itself with a known cost."
COST = "Sum of their costs, in USD."
NANO_COST = "Sum of their costs, in whole nano-dollars (USD / 10^9)."
SAME_CASE = (
    "Both runs asked the same: equal case_hash. False where one is unknown, which equals nothing"
)
PREVIOUS = ", of the previous run."


def previous_run_meaning(text: str) -> str:
    """Return the meaning of a column for the previous run."""
    return text.replace("of this run itself", "of that run itself").removesuffix(".") + PREVIOUS


class CellsRow(ViewRow):
    """One cell of one run: the trials of a case with a model."""

    view: ClassVar[str] = "cells"
    order: ClassVar[str] = (
        "run_id, suite_id, provider, model, thinking_level nulls first, model_id, case_id"
    )

    run_id: str = Field(description="Run the row belongs to.")
    suite_id: str = same_column("suite_id")
    provider: str = same_column("provider")
    model: str = same_column("model")
    thinking_level: str | None = same_column("thinking_level")
    model_id: str = same_column("model_id")
    case_id: str = same_column("case_id")
    case_hash: str | None = same_column("case_hash")
    started_at_ms: EpochMillis | None = Field(description=RUN_START)
    started_at: datetime | None = Field(description=STARTED_AT)
    n_planned: Positive = Field(description=PLANNED)
    n_total: Count = Field(description=TOTAL)
    n_ok: Count = Field(description="Trials that the provider served.")
    n_success: Count = Field(description="Served trials that ended without an error.")
    n_first_attempt: Count = Field(
        description="Answered trials of this run itself that needed one request only."
    )
    n_reused: Count = Field(description=REUSED)
    n_scorable: Count = Field(description=SCORABLE)
    n_scored: Count = Field(description=SCORED)
    n_passed: Count = Field(description=PASSED)
    passed_rate: Rate | None = Field(description=PASSED_RATE)
    majority_passed: bool | None = Field(description=MAJORITY)
    n_latency: Count = Field(description=LATENCY)
    e2e_ms_total: Total | None = Field(description="Sum of e2e_ms of those trials, in ms.")
    e2e_ms_mean: float | None = Field(description=E2E_MEAN)
    n_ttft: Count = Field(description="Answered trials of this run itself with a known ttft_ms.")
    ttft_ms_total: Total | None = Field(description="Sum of ttft_ms of those trials, in ms.")
    ttft_ms_mean: float | None = Field(description="Mean ttft_ms of those trials, in ms.")
    n_tokens_known: Count = Field(
        description="Trials of this run itself that reported input and output tokens."
    )
    input_tokens: Total | None = Field(description="Sum over trials of this run itself.")
    output_tokens: Total | None = Field(description="Sum over trials of this run itself.")
    reasoning_tokens: Total | None = Field(description="Part of output_tokens.")
    cached_input_tokens: Total | None = Field(description="Part of input_tokens.")
    n_cost_known: Count = Field(description=COST_KNOWN)
    cost_nano_usd: NanoUsd | None = Field(description=NANO_COST)
    cost_usd: float | None = Field(description=COST)


class CellRunRow(ViewRow):
    """A row that belongs to one run of one cell, cells first."""

    suite_id: str = same_column("suite_id")
    case_id: str = same_column("case_id")
    provider: str = same_column("provider")
    model: str = same_column("model")
    thinking_level: str | None = same_column("thinking_level")
    model_id: str = same_column("model_id")


class CellHistoryRow(CellRunRow):
    """One run of one cell, with the verdicts of the run before."""

    view: ClassVar[str] = "cell_history"
    order: ClassVar[str] = CELL_ORDER

    run_no: Positive = Field(description="Place among the runs that planned the cell, from 1.")
    run_id: str = Field(description="Run the row belongs to.")
    started_at_ms: EpochMillis | None = Field(description=RUN_START)
    started_at: datetime | None = Field(description=STARTED_AT)
    case_hash: str | None = same_column("case_hash")
    n_planned: Positive = Field(description=PLANNED)
    n_total: Count = Field(description=TOTAL)
    n_reused: Count = Field(description=REUSED)
    n_scorable: Count = Field(description=SCORABLE)
    n_scored: Count = Field(description=SCORED)
    n_passed: Count = Field(description=PASSED)
    passed_rate: Rate | None = Field(description=PASSED_RATE)
    majority_passed: bool | None = Field(description=MAJORITY)
    n_latency: Count = Field(description=LATENCY)
    e2e_ms_mean: float | None = Field(description=E2E_MEAN)
    n_cost_known: Count = Field(description=COST_KNOWN)
    cost_usd: float | None = Field(description=COST)
    previous_run_id: str | None = Field(
        description="Last run before it that planned the cell; null for the first."
    )
    previous_started_at_ms: EpochMillis | None = Field(
        description="Start of that run, in ms since 1970-01-01 UTC."
    )
    previous_n_scored: Count | None = Field(description=previous_run_meaning(SCORED))
    previous_n_passed: Count | None = Field(description=previous_run_meaning(PASSED))
    is_same_case: bool | None = Field(description=f"{SAME_CASE}; null for the first run.")


class PairsRow(CellRunRow):
    """One run of one cell beside the run before."""

    view: ClassVar[str] = "pairs"
    order: ClassVar[str] = CELL_ORDER

    run_no: Positive = Field(description="Place among the runs that planned the cell; from 2 here.")
    run_id: str = Field(description="The later run.")
    previous_run_id: str = Field(description="Last run before it that planned the cell.")
    started_at_ms: EpochMillis | None = Field(description=RUN_START)
    started_at: datetime | None = Field(description=STARTED_AT)
    previous_started_at_ms: EpochMillis | None = Field(description=previous_run_meaning(RUN_START))
    is_same_case: bool = Field(description=f"{SAME_CASE}.")
    n_planned: Positive = Field(description=PLANNED)
    previous_n_planned: Positive = Field(description=previous_run_meaning(PLANNED))
    n_total: Count = Field(description=TOTAL)
    previous_n_total: Count = Field(description=previous_run_meaning(TOTAL))
    n_reused: Count = Field(description=REUSED)
    previous_n_reused: Count = Field(description=previous_run_meaning(REUSED))
    n_scorable: Count = Field(description=SCORABLE)
    previous_n_scorable: Count = Field(description=previous_run_meaning(SCORABLE))
    n_scored: Count = Field(description=SCORED)
    previous_n_scored: Count = Field(description=previous_run_meaning(SCORED))
    n_passed: Count = Field(description=PASSED)
    previous_n_passed: Count = Field(description=previous_run_meaning(PASSED))
    passed_rate: Rate | None = Field(description=PASSED_RATE)
    previous_passed_rate: Rate | None = Field(description="previous_n_passed / previous_n_scored.")
    passed_rate_difference: float | None = Field(
        description="passed_rate - previous_passed_rate; above 0: better than before."
    )
    n_latency: Count = Field(description=LATENCY)
    previous_n_latency: Count = Field(description=previous_run_meaning(LATENCY))
    e2e_ms_mean: float | None = Field(description=E2E_MEAN)
    previous_e2e_ms_mean: float | None = Field(description=previous_run_meaning(E2E_MEAN))
    e2e_ms_ratio: float | None = Field(
        description="e2e_ms_mean / previous_e2e_ms_mean; above 1: slower than before."
    )
    n_cost_known: Count = Field(description=COST_KNOWN)
    previous_n_cost_known: Count = Field(description=previous_run_meaning(COST_KNOWN))
    cost_usd: float | None = Field(description=COST)
    previous_cost_usd: float | None = Field(description=previous_run_meaning(COST))


class FlipsRow(CellRunRow):
    """One cell whose majority verdict differs from that of the run before."""

    view: ClassVar[str] = "flips"
    order: ClassVar[str] = CELL_ORDER

    case_hash: str = Field(description="Of the case, the same in both runs.")
    run_no: Positive = Field(description="Place among the runs that planned the cell; from 2 here.")
    run_id: str = Field(description="The later run.")
    previous_run_id: str = Field(description="Last run before it that planned the cell.")
    started_at_ms: EpochMillis | None = Field(description=RUN_START)
    started_at: datetime | None = Field(description=STARTED_AT)
    previous_started_at_ms: EpochMillis | None = Field(description=previous_run_meaning(RUN_START))
    direction: Literal["broke", "fixed"] = Field(
        description="broke: most passed before and most fail now; fixed: the other way round."
    )
    n_scored: Positive = Field(description=SCORED)
    n_passed: Count = Field(description=PASSED)
    is_unanimous: bool = Field(description="All verdicts of the later run agree.")
    previous_n_scored: Positive = Field(description=previous_run_meaning(SCORED))
    previous_n_passed: Count = Field(description=previous_run_meaning(PASSED))
    was_unanimous: bool = Field(description="All verdicts of the previous run agree.")


class CaseMatrixRow(ViewRow):
    """One case with one model, over all runs."""

    view: ClassVar[str] = "case_matrix"
    order: ClassVar[str] = (
        "suite_id, case_id, case_hash nulls first, "
        "provider, model, thinking_level nulls first, model_id"
    )

    suite_id: str = same_column("suite_id")
    case_id: str = same_column("case_id")
    case_hash: str | None = Field(
        description="Of all that reaches the model or judges it; null: not known, and perhaps "
        "different cases of one name."
    )
    provider: str = same_column("provider")
    model: str = same_column("model")
    thinking_level: str | None = same_column("thinking_level")
    model_id: str = same_column("model_id")
    n_runs: Positive = Field(description="Runs that planned it.")
    first_started_at_ms: EpochMillis | None = Field(
        description="Start of the first of these runs, in ms since 1970-01-01 UTC."
    )
    last_started_at_ms: EpochMillis | None = Field(
        description="Start of the last of these runs, in ms since 1970-01-01 UTC."
    )
    n_planned: Positive = Field(description=PLANNED)
    n_total: Count = Field(description=TOTAL)
    n_reused: Count = Field(description=REUSED)
    n_scorable: Count = Field(description=SCORABLE)
    n_scored: Count = Field(description=SCORED)
    n_passed: Count = Field(description=PASSED)
    passed_rate: Rate | None = Field(description=PASSED_RATE)
    coverage: Rate | None = Field(description="n_scored / n_scorable.")
    n_latency: Count = Field(description="Answered trials with a known e2e_ms, none reused.")
    e2e_ms_mean: float | None = Field(description=E2E_MEAN)
    n_cost_known: Count = Field(description="Trials with a known cost, reused ones left out.")
    cost_nano_usd: NanoUsd | None = Field(description=NANO_COST)
    cost_usd: float | None = Field(description=COST)

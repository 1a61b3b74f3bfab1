"""Rows of the views about models: over all runs, behind summary.json, and behind comparisons.

A comparison rests on `CaseOutcomesRow`: a case of a run with all that made its verdicts.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from analyze.contracts.base import (
    GROUP,
    GROUP_ORDER,
    PLANS,
    RUN_MODEL_ORDER,
    GroupRow,
    RunModelRow,
    ViewRow,
    same_column,
    view_row,
)
from analyze.contracts.history import COST, LATENCY, NANO_COST, PASSED, PASSED_RATE, SCORED, NanoUsd
from schemas.base import Count, EpochMillis, Millis, Positive, Rate, Unit, UsdSum

TOOL_TRIALS = "Trials with expected tools that the provider served."
TOOL_SUCCESS = "Those in which at least one expected tool was invoked."
MODEL_ORDER = "provider, model, thinking_level nulls first"

TotalTokens = Annotated[int, Field(ge=0), Unit("tokens")]
"""A sum: what bounds one trial does not bound it."""

WallClock = Annotated[int, Field(ge=0), Unit("ms")]
"""Longer than any run where a clock began at 1970 and was set meanwhile."""

REUSED = "Results taken from an older run: their verdicts count, their time and cost do not."
TOKENS = "Sum over trials made in this run that reported it; null: none did."

LogSum = Annotated[int, Field()]
"""Whole numbers of 1e-12."""

TotalMillis = Annotated[int, Field(ge=0), Unit("ms")]
"""A sum: what bounds one trial does not bound it."""

FIRST = "Made in this run, answered trials on the first attempt, above 0."
MADE = "Made in this run, known and above 0."
LN = "Sum of their natural logarithms, in 1e-12"
HASH = "Start of the hash, of the first repetition planned"


ToolUseRow = view_row(
    "tool_use",
    GROUP_ORDER,
    "run_id provider model thinking_level model_id",
    GROUP,
    n_cases=(Positive, "Cases with expected tools."),
    n_planned=(Positive, "Planned trials with expected tools."),
    n_served_cases=(Count, "Cases of which at least one trial was served."),
    n_tool_trials=(Count, TOOL_TRIALS),
    n_tool_success=(Count, TOOL_SUCCESS),
    tool_use_rate=(Rate | None, "n_tool_success / n_tool_trials."),
)

GroupToolCountsRow = view_row(
    "int_group_tool_counts",
    f"{MODEL_ORDER}, cluster nulls first, n_tool_trials, n_tool_success",
    "provider model thinking_level cluster",
    n_tool_trials=(Positive, f"{TOOL_TRIALS[:-1]}, of one case over all runs."),
    n_tool_success=(Count, TOOL_SUCCESS),
    n_cases=(Positive, "Cases that came out this way."),
)

TiersRow = view_row(
    "tiers",
    MODEL_ORDER,
    "provider model thinking_level",
    n_runs=(Positive, "Runs that planned the model, with or without tools."),
    n_cases=(Count, "Cases (suite_id, case_id, case_hash) of n_tool_trials."),
    n_tool_trials=(Count, TOOL_TRIALS),
    n_tool_success=(Count, TOOL_SUCCESS),
    tool_use_rate=(Rate | None, "n_tool_success / n_tool_trials."),
    tier=(
        Literal[1, 2, 3] | None,
        "1: tool-capable; 2: capable but inconsistent; 3: incapable; null: unrated.",
    ),
    tier_1_from=(Rate, "Threshold in force: rate from which tier 1 begins."),
    tier_2_from=(Rate, "Threshold in force: rate from which tier 2 begins."),
)


class LatencyHistogramRow(GroupRow):
    """Answered trials of one model of which a time lies in one bin."""

    view: ClassVar[str] = "latency_histogram"
    order: ClassVar[str] = f"{GROUP_ORDER}, metric, bin_from_ms"

    metric: Literal["e2e_ms", "ttft_ms"] = Field(description="Which time the bin is of.")
    bin_from_ms: Millis = Field(description="Lower end of the bin, in it, in ms.")
    bin_to_ms: int = Field(gt=0, description="Upper end of the bin, not in it, in ms.")
    n_trials: Positive = Field(description="Answered trials of this run itself in the bin.")


class CostQualityRow(GroupRow):
    """What the quality of one model cost in one run."""

    view: ClassVar[str] = "cost_quality"
    order: ClassVar[str] = GROUP_ORDER

    n_scored: Count = Field(description=SCORED)
    n_passed: Count = Field(description=PASSED)
    passed_rate: Rate | None = Field(description=PASSED_RATE)
    n_cost_known: Count = Field(description="Trials of this run itself with a known cost.")
    n_priced_scored: Count = Field(description="Those of them that have a verdict.")
    n_priced_passed: Count = Field(description="Those of them that passed.")
    cost_nano_usd: NanoUsd | None = Field(description=NANO_COST)
    cost_usd: float | None = Field(description=COST)
    cost_usd_per_scored: float | None = Field(description="cost_usd / n_priced_scored, in USD.")
    cost_usd_per_pass: float | None = Field(description="cost_usd / n_priced_passed, in USD.")
    n_latency: Count = Field(description=LATENCY)
    e2e_ms_mean: float | None = Field(description="Mean e2e_ms of those trials, in ms.")
    is_on_frontier: bool | None = Field(
        description="No other model of the run is cheaper per scored trial and at least as good, "
        "or better and no dearer, of those that may be named best; null where cost or passed_rate "
        "is unknown, and with fewer than five cases or too little coverage to be named so."
    )


class ModelSummaryRow(GroupRow):
    """One model as it was run, in numbers."""

    view: ClassVar[str] = "model_summary"
    order: ClassVar[str] = GROUP_ORDER

    n_planned: Count = Field(description="Trials of the plan.")
    n_total: Count = Field(description="Trials with a result.")
    n_ok: Count = Field(description="Trials that the provider served.")
    n_success: Count = Field(description="Served trials that ended without an error.")
    n_reused: Count = Field(description=REUSED)
    n_skipped_unavailable: Count = Field(description="Trials that nobody was there to serve.")
    n_auth_error: Count = Field(description="Trials refused for want of a right or a key.")
    n_rate_limited: Count = Field(description="Trials refused for asking too often.")
    n_error: Count = Field(
        description="Trials not served for any other reason, time-outs included."
    )
    n_timeout: Count = Field(description="Trials that ran out of time; they are in n_error too.")
    n_scorable: Count = Field(description="Planned trials that can get a verdict.")
    n_scored: Count = Field(description="Trials with a verdict.")
    n_passed: Count = Field(description="Trials that passed.")
    n_objective_scored: Count = Field(description="Answered trials that a validator judged.")
    n_objective_passed: Count = Field(description="Answered trials that the validator passed.")
    success_rate_ok: Rate | None = Field(description="n_success / n_ok.")
    objective_pass_rate: Rate | None = Field(description="Validator passes among answered trials.")
    passed_rate: Rate | None = Field(description="n_passed / n_scored.")
    score_strict: Rate | None = Field(description="n_passed / n_scorable.")
    coverage: Rate | None = Field(description="n_scored / n_scorable.")
    wall_clock_ms: WallClock | None = Field(
        description="First start to last end in ms, reused trials left out; null: none, or the "
        "clock was set back."
    )
    n_latency: Count = Field(description="Answered trials made in this run with a known e2e_ms.")
    n_timeout_counted: Count = Field(
        description="Time-outs made in this run that count against the model: in each percentile "
        "later than every answer."
    )
    e2e_ms_p50: float | None = Field(
        description="Median e2e_ms of those trials and time-outs, in ms; null: none, or beyond "
        "the time limit."
    )
    e2e_ms_p95: float | None = Field(description="95th percentile of those, in ms; null as p50.")
    e2e_ms_p99: float | None = Field(description="99th percentile of those, in ms; null as p50.")
    e2e_ms_mean: float | None = Field(description="Mean e2e_ms of those trials, in ms.")
    n_ttft: Count = Field(description="Answered trials made in this run with a known ttft_ms.")
    ttft_ms_p50: float | None = Field(
        description="Median ttft_ms of those trials and of the time-outs, in ms; null: no "
        "answered trial has one, or beyond the time limit."
    )
    ttft_ms_p95: float | None = Field(description="95th percentile of those, in ms; null as p50.")
    ttft_ms_p99: float | None = Field(description="99th percentile of those, in ms; null as p50.")
    ttft_ms_mean: float | None = Field(description="Mean ttft_ms of those trials, in ms.")
    input_tokens: TotalTokens | None = Field(description=TOKENS)
    output_tokens: TotalTokens | None = Field(description=f"{TOKENS} Includes reasoning.")
    reasoning_tokens: TotalTokens | None = Field(description=f"{TOKENS} Part of output_tokens.")
    cached_input_tokens: TotalTokens | None = Field(description=f"{TOKENS} Part of input_tokens.")
    n_tokens_known: Count = Field(
        description="Trials made in this run that reported input and output tokens."
    )
    cost_usd: UsdSum | None = Field(
        description="Sum over trials made in this run with a known cost, in USD; null: none has."
    )
    n_cost_known: Count = Field(description="Trials made in this run with a known cost.")
    output_tokens_per_s: float | None = Field(
        description="Output tokens per second of e2e_ms, of answered trials made in this run."
    )
    n_tool_trials: Count = Field(description="Served trials with expected tools.")
    n_tool_success: Count = Field(description="Those that used one of the expected tools.")
    tool_use_rate: Rate | None = Field(description="n_tool_success / n_tool_trials.")


class RepetitionsRow(GroupRow):
    """How often a model was asked each case, and whether its answers differ."""

    view: ClassVar[str] = "repetitions"
    order: ClassVar[str] = GROUP_ORDER

    n_cases: Positive = Field(description="Planned cases.")
    repetitions: Positive = Field(description="Planned trials of the case that has most.")
    n_repeated_cases: Count = Field(description="Cases answered at least twice in this very run.")
    n_identical_cases: Count = Field(description="Repeated cases whose answers are the same.")


class FailureSummaryRow(GroupRow):
    """How often a model failed in one way."""

    view: ClassVar[str] = "failure_summary"
    order: ClassVar[str] = f"{GROUP_ORDER}, failure_type"

    failure_type: str = Field(description="Reason code; `unknown` where records have none.")
    n_trials: Positive = Field(description="Trials that ended so.")


class RunSummaryRow(ViewRow):
    """One run as a whole."""

    view: ClassVar[str] = "run_summary"
    order: ClassVar[str] = "run_id"

    run_id: str = Field(description="Run that is summed up.")
    n_models: Positive = Field(description="Models of the plan.")
    n_planned: Positive = Field(description="Trials of the plan.")
    n_total: Count = Field(description="Trials with a result.")
    n_ok: Count = Field(description="Trials that the provider served.")
    n_success: Count = Field(description="Served trials that ended without an error.")
    n_reused: Count = Field(description=REUSED)
    n_scorable: Count = Field(description="Planned trials that can get a verdict.")
    n_scored: Count = Field(description="Trials with a verdict.")
    n_passed: Count = Field(description="Trials that passed.")
    passed_rate: Rate | None = Field(description="n_passed / n_scored.")
    score_strict: Rate | None = Field(description="n_passed / n_scorable.")
    coverage: Rate | None = Field(description="n_scored / n_scorable.")
    ended_at_ms: EpochMillis | None = Field(
        description="Last end of a trial, reused ones too, in ms since 1970-01-01 UTC."
    )
    wall_clock_ms: WallClock | None = Field(
        description="First start to last end in ms, reused trials left out; null: none, or the "
        "clock was set back."
    )
    input_tokens: TotalTokens | None = Field(description=TOKENS)
    output_tokens: TotalTokens | None = Field(description=f"{TOKENS} Includes reasoning.")
    cost_usd: UsdSum | None = Field(
        description="Sum over trials made in this run with a known cost, in USD; null: none has."
    )
    n_cost_known: Count = Field(description="Trials made in this run with a known cost.")


CasePassesRow = view_row(
    "int_case_passes",
    f"{RUN_MODEL_ORDER}, case_id",
    "run_id model_id case_id cluster",
    GROUP,
    case_id=(str, "Name of the case."),
    n_planned=(Count, "Planned trials of the case."),
    n_scorable=(Count, "Planned trials that can get a verdict."),
    n_scored=(Count, "Trials with a verdict: m of the statistics."),
    n_passed=(Count, "Trials that passed: k of the statistics."),
    n_independent=(Count, "Trials with a verdict made in this very run."),
    n_independent_passed=(Count, "Those of them that passed."),
    is_repeated=(bool, "At least two answered trials made in this very run."),
    is_identical=(bool, "Repeated, and every answer has the same bytes."),
)

CaseToolUseRow = view_row(
    "int_case_tool_use",
    f"{RUN_MODEL_ORDER}, case_id",
    "run_id model_id case_id cluster",
    GROUP,
    case_id=(str, "Name of the case."),
    n_tool_trials=(Positive, "Served trials with expected tools."),
    n_tool_success=(Count, "Those that used one of the expected tools."),
)


class PassCountsRow(RunModelRow):
    """Cases with the same verdicts, counted."""

    view: ClassVar[str] = "int_pass_counts"
    order: ClassVar[str] = (
        f"{RUN_MODEL_ORDER}, cluster nulls first, is_scorable, n_scored, n_passed, n_independent, "
        "n_independent_passed"
    )

    cluster: str | None = same_column("cluster", "plans")
    is_scorable: bool = Field(description="Trials of the case can get a verdict.")
    n_scored: Count = Field(description="Trials with a verdict, of one such case.")
    n_passed: Count = Field(description="Trials that passed, of one such case.")
    n_independent: Count = Field(description="Trials with a verdict made in this very run.")
    n_independent_passed: Count = Field(description="Those of them that passed.")
    n_cases: Positive = Field(description="Cases that came out this way.")


class ToolCountsRow(RunModelRow):
    """Cases with the same tool use, counted."""

    view: ClassVar[str] = "int_tool_counts"
    order: ClassVar[str] = f"{RUN_MODEL_ORDER}, cluster nulls first, n_tool_trials, n_tool_success"

    cluster: str | None = same_column("cluster", "plans")
    n_tool_trials: Positive = Field(description="Served trials with expected tools, of one case.")
    n_tool_success: Count = Field(description="Those that used one of the expected tools.")
    n_cases: Positive = Field(description="Cases that came out this way.")


CaseOutcomesRow = view_row(
    "int_case_outcomes",
    f"{GROUP_ORDER}, suite_id, case_id",
    "run_id provider model thinking_level model_id suite_id case_id case_hash",
    GROUP,
    first_repetition=(Positive, "Lowest repetition planned, mostly 1."),
    settings=(str | None, f"{HASH}; it holds the repetition. Null: not known."),
    endpoint=(str | None, f"{HASH}: provider, URL, model, routing."),
    harness=(str | None, f"{HASH}: what executed the trial."),
    tools=(str | None, f"{HASH}; null: the case offers none."),
    model_build=(str | None, f"{HASH}: the weights; null: not known."),
    agent=(str | None, f"{HASH}; null: no agent."),
    image=(str | None, f"{HASH}; null: no container."),
    tags=PLANS["tags"],
    cluster=PLANS["cluster"],
    n_planned=(Count, "Trials of the plan."),
    n_scorable=(Count, "Planned trials that can get a verdict."),
    n_total=(Count, "Trials with a result."),
    n_reused=(Count, "Results taken from an older run."),
    n_scored=(Count, "Trials with a verdict."),
    n_passed=(Count, "Trials that passed."),
    n_independent=(Count, "Trials made in this run with a verdict."),
    n_independent_passed=(Count, "Of them, those that passed."),
    n_timeout=(Count, "Trials that ran out of time."),
    n_truncated=(Count, "Trials whose answer was cut off at a limit."),
    n_free=(Count, "Trials made in this run whose cost is known to be 0."),
    n_answers=(Count, "Answered trials made in this run."),
    n_failed_answers=(Count, "Trials made in this run that have a verdict without being answered."),
    first_hash=(
        str | None,
        "Lowest output_hash of those trials; all are the same when it is last_hash.",
    ),
    last_hash=(str | None, "Highest output_hash of those trials."),
    n_e2e_ms=(Count, f"Trials with an e2e_ms, in ms. {FIRST}"),
    ln_e2e_ms=(LogSum | None, f"{LN}, of ms."),
    e2e_ms=(TotalMillis | None, "Sum of those e2e_ms, in ms."),
    n_ttft_ms=(Count, f"Trials with a ttft_ms, in ms. {FIRST}"),
    ln_ttft_ms=(LogSum | None, f"{LN}, of ms."),
    ttft_ms=(TotalMillis | None, "Sum of those ttft_ms, in ms."),
    n_input_tokens=(Count, f"Trials with input tokens. {MADE}"),
    ln_input_tokens=(LogSum | None, f"{LN}."),
    input_tokens=(TotalTokens | None, "Sum of those input tokens."),
    n_output_tokens=(Count, f"Trials with output tokens. {MADE}"),
    ln_output_tokens=(LogSum | None, f"{LN}."),
    output_tokens=(TotalTokens | None, "Sum of those output tokens."),
    n_cost=(Count, f"Trials with a cost. {MADE}"),
    ln_cost_nano_usd=(LogSum | None, f"{LN}, of nano-dollars (USD / 10^9)."),
    cost_nano_usd=(int | None, "Sum of those costs in whole nano-dollars (USD / 10^9)."),
)

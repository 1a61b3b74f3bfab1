"""Rows of the views behind summary.json: models, failures, verdicts and tool use of cases."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from analyze.rows.base import GROUP_ORDER, GroupRow, ViewRow
from schemas.base import Count, EpochMillis, Millis, Positive, Rate, Tokens, Usd


class ModelSummaryRow(GroupRow):
    """One model as it was run, in numbers."""

    view: ClassVar[str] = "model_summary"
    order: ClassVar[str] = GROUP_ORDER

    n_planned: Count
    n_total: Count = Field(description="Trials with a result.")
    n_ok: Count = Field(description="Trials that the provider served.")
    n_success: Count = Field(description="Served trials that ended without an error.")
    n_skipped_unavailable: Count
    n_auth_error: Count
    n_rate_limited: Count
    n_error: Count
    n_timeout: Count
    n_scorable: Count = Field(description="Planned trials that can get a verdict.")
    n_scored: Count = Field(description="Trials with a verdict.")
    n_passed: Count
    n_objective_scored: Count = Field(description="Successes that a validator judged.")
    n_objective_passed: Count
    success_rate_ok: Rate | None = Field(description="n_success / n_ok.")
    objective_pass_rate: Rate | None = Field(description="Validator passes among successes.")
    passed_rate: Rate | None = Field(description="n_passed / n_scored.")
    score_strict: Rate | None = Field(description="n_passed / n_scorable.")
    coverage: Rate | None = Field(description="n_scored / n_scorable.")
    wall_clock_ms: Millis | None = Field(
        description="First start to last end, reused trials left out."
    )
    n_latency: Count = Field(description="Successes with a known e2e_ms.")
    e2e_ms_p50: float | None
    e2e_ms_p95: float | None
    e2e_ms_p99: float | None
    e2e_ms_mean: float | None
    n_ttft: Count = Field(description="Successes with a known ttft_ms.")
    ttft_ms_p50: float | None
    ttft_ms_p95: float | None
    ttft_ms_p99: float | None
    ttft_ms_mean: float | None
    input_tokens: Tokens | None
    output_tokens: Tokens | None
    reasoning_tokens: Tokens | None
    cached_input_tokens: Tokens | None
    n_tokens_known: Count = Field(description="Trials that reported input and output tokens.")
    cost_usd: Usd | None = Field(description="Sum over trials with a known cost.")
    n_cost_known: Count
    output_tokens_per_s: float | None = Field(description="Output tokens / e2e of successes.")
    n_tool_trials: Count = Field(description="Served trials with expected tools.")
    n_tool_success: Count
    tool_use_rate: Rate | None = Field(description="n_tool_success / n_tool_trials.")
    repetitions: Count = Field(description="Planned trials of the case that has most.")
    n_repeated_cases: Count = Field(description="Cases answered at least twice.")
    n_identical_cases: Count = Field(description="Repeated cases whose answers are the same.")


class FailureSummaryRow(GroupRow):
    """How often a model failed in one way."""

    view: ClassVar[str] = "failure_summary"
    order: ClassVar[str] = f"{GROUP_ORDER}, failure_type"

    failure_type: str
    n_trials: Positive


class RunSummaryRow(ViewRow):
    """One run as a whole."""

    view: ClassVar[str] = "run_summary"
    order: ClassVar[str] = "run_id"

    run_id: str
    n_planned: Count
    n_total: Count
    ended_at_ms: EpochMillis | None = Field(description="Last end of a trial, reused ones too.")
    wall_clock_ms: Millis | None = Field(
        description="First start to last end, reused trials left out."
    )


class CasePassesRow(GroupRow):
    """Verdicts of one case."""

    view: ClassVar[str] = "int_case_passes"
    order: ClassVar[str] = f"{GROUP_ORDER}, case_id"

    case_id: str
    n_planned: Count
    n_scorable: Count = Field(description="Planned trials that can get a verdict.")
    n_scored: Count = Field(description="Trials with a verdict: m of the statistics.")
    n_passed: Count = Field(description="Trials that passed: k of the statistics.")
    n_independent: Count = Field(description="Trials with a verdict made in this very run.")
    n_independent_passed: Count
    is_repeated: bool = Field(description="At least two successes made in this very run.")
    is_identical: bool = Field(description="Repeated, and every answer has the same bytes.")


class CaseToolUseRow(GroupRow):
    """Tool use in one case."""

    view: ClassVar[str] = "int_case_tool_use"
    order: ClassVar[str] = f"{GROUP_ORDER}, case_id"

    case_id: str
    n_tool_trials: Positive = Field(description="Served trials with expected tools.")
    n_tool_success: Count


class PassCountsRow(GroupRow):
    """Cases with the same verdicts, counted."""

    view: ClassVar[str] = "int_pass_counts"
    order: ClassVar[str] = (
        f"{GROUP_ORDER}, is_scorable, n_scored, n_passed, n_independent, n_independent_passed"
    )

    is_scorable: bool = Field(description="Trials of the case can get a verdict.")
    n_scored: Count = Field(description="Trials with a verdict, of one such case.")
    n_passed: Count = Field(description="Trials that passed, of one such case.")
    n_independent: Count = Field(description="Trials with a verdict made in this very run.")
    n_independent_passed: Count
    n_cases: Positive = Field(description="Cases that came out this way.")


class ToolCountsRow(GroupRow):
    """Cases with the same tool use, counted."""

    view: ClassVar[str] = "int_tool_counts"
    order: ClassVar[str] = f"{GROUP_ORDER}, n_tool_trials, n_tool_success"

    n_tool_trials: Positive = Field(description="Served trials with expected tools, of one case.")
    n_tool_success: Count
    n_cases: Positive = Field(description="Cases that came out this way.")

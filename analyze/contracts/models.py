"""Rows of the views about models: tool use, tiers, latency histogram, what quality costs."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from analyze.contracts.base import GROUP_ORDER, GroupRow, ViewRow, like
from analyze.contracts.history import COST, LATENCY, NANO_COST, PASSED, PASSED_RATE, SCORED, NanoUsd
from schemas.base import Count, Millis, Positive, Rate

TOOL_TRIALS = "Trials with expected tools that the provider served."
TOOL_SUCCESS = "Those in which at least one expected tool was invoked."
MODEL_ORDER = "provider, model, thinking_level nulls first"


class ToolUseRow(GroupRow):
    """Tool use of one model in one run."""

    view: ClassVar[str] = "tool_use"
    order: ClassVar[str] = GROUP_ORDER

    n_cases: Positive = Field(description="Cases with expected tools.")
    n_planned: Positive = Field(description="Planned trials with expected tools.")
    n_served_cases: Count = Field(description="Cases of which at least one trial was served.")
    n_tool_trials: Count = Field(description=TOOL_TRIALS)
    n_tool_success: Count = Field(description=TOOL_SUCCESS)
    tool_use_rate: Rate | None = Field(description="n_tool_success / n_tool_trials.")


class ModelRow(ViewRow):
    """A row that belongs to one model over all runs, whatever its local name."""

    provider: str = like("provider")
    model: str = like("model")
    thinking_level: str | None = like("thinking_level")


class GroupToolCountsRow(ModelRow):
    """Cases with the same tool use over all runs, counted."""

    view: ClassVar[str] = "int_group_tool_counts"
    order: ClassVar[str] = f"{MODEL_ORDER}, cluster nulls first, n_tool_trials, n_tool_success"

    cluster: str | None = like("cluster", "plans")
    n_tool_trials: Positive = Field(description=f"{TOOL_TRIALS[:-1]}, of one case over all runs.")
    n_tool_success: Count = Field(description=TOOL_SUCCESS)
    n_cases: Positive = Field(description="Cases that came out this way.")


class TiersRow(ModelRow):
    """The routing tier of one model."""

    view: ClassVar[str] = "tiers"
    order: ClassVar[str] = MODEL_ORDER

    n_runs: Positive = Field(description="Runs that planned the model, with or without tools.")
    n_cases: Count = Field(description="Cases (suite_id, case_id, case_hash) of n_tool_trials.")
    n_tool_trials: Count = Field(description=TOOL_TRIALS)
    n_tool_success: Count = Field(description=TOOL_SUCCESS)
    tool_use_rate: Rate | None = Field(description="n_tool_success / n_tool_trials.")
    tier: Literal[1, 2, 3] | None = Field(
        description="1: tool-capable; 2: capable but inconsistent; 3: incapable; null: unrated."
    )
    tier_1_from: Rate = Field(description="Threshold in force: rate from which tier 1 begins.")
    tier_2_from: Rate = Field(description="Threshold in force: rate from which tier 2 begins.")


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

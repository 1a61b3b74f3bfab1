"""summary.json: the run in numbers, one group per (provider, model, thinking_level, model_id)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import Count, Interval, PassK, Positive, Rate, Record, Unit, UsdSum
from schemas.run.inventory import ResourceSnapshot

SUMMARY_VERSION = 2
"""Of summary.json. 2: the interval of a rate is that of the mean over cases, `estimate`, by
`wilson_shrunk`; in 1 it was that of passed / trials, by `wilson_clustered`. Both are read."""

TierLabel = Literal[
    "Tier 1 (Tool-Capable)", "Tier 2 (Tool-Capable but Inconsistent)", "Tier 3 (Tool-Incapable)"
]


WallClock = Annotated[int, Field(ge=0), Unit("ms")]
"""Of a run; a clock that begins at 1970 and is set meanwhile makes it longer than any trial."""

Total = Annotated[int, Field(ge=0)]
"""A sum, which is not bounded by what bounds one trial."""


class Supported(Record):
    """Whether enough trials stand behind each percentile: n (1 - q) >= 5.

    n is of answered trials and of the time-outs that count.
    """

    p50: bool
    p95: bool
    p99: bool


PercentileName = Literal["p50", "p95", "p99"]


class Percentiles(Record):
    """Of answered trials and time-outs, by linear interpolation; null when there is none.

    A time-out that counts against the model is later than every answer. A percentile that reaches
    into them is null and named in `beyond_limit`: all that is known is that the limit lies below.
    """

    p50: float | None
    p95: float | None
    p99: float | None
    mean: float | None = Field(description="Of answered trials alone.")
    n: Count = Field(description="Answered trials whose time is known.")
    supported: Supported
    n_timeouts: Count = Field(default=0, description="Time-outs that count, beside the n.")
    beyond_limit: tuple[PercentileName, ...] = Field(
        default=(), description="Percentiles that lie beyond the time limit."
    )


class TokenTotals(Record):
    """Sums over the trials that reported them; null when none did."""

    input: Total | None
    output: Total | None
    reasoning: Total | None
    cached_input: Total | None
    n_known: Count = Field(description="Trials that reported input and output tokens.")


class ToolUse(Record):
    """How often an expected tool was invoked, and the routing tier that follows."""

    n: Count = Field(description="Trials with expected tools and availability ok.")
    rate: Rate | None
    ci95: Interval | None
    tier: Literal[1, 2, 3] | None = Field(description="Null: unrated, no such trial.")
    tier_label: TierLabel | None
    tier_confident: bool | None = Field(description="The whole interval lies inside the tier.")


class GroupSummary(Record):
    """One model as it was run: the older tool's fields first, then ours."""

    provider: str = Field(description="Transport.")
    model: str = Field(description="Model string, as requested.")
    thinking_level: str | None = Field(description="Reasoning effort asked for.")
    n_total: Count = Field(description="Trials with a result.")
    n_ok: Count = Field(description="Of them, served by the provider.")
    n_success: Count = Field(description="Of those, answered without an error.")
    n_skipped_unavailable: Count = Field(description="Endpoint or model not there.")
    n_rate_limited: Count = Field(description="429 after all retries.")
    n_error: Count = Field(description="Any other failure that is not the model's alone.")
    success_rate_ok: Rate | None = Field(description="n_success / n_ok.")
    objective_pass_rate: Rate | None = Field(description="Validator passes among answered trials.")
    wall_clock_ms: WallClock | None = Field(
        description="First start to last end, made in this run."
    )
    latency_ms: Percentiles = Field(
        description="e2e_ms: p50, p95, p99 (a time-out is later than every answer), mean of "
        "answered trials."
    )
    resources_before: ResourceSnapshot | None = Field(description="Memory and disk before.")
    resources_after: ResourceSnapshot | None = Field(description="Memory and disk after.")

    model_id: str = Field(description="Local name; splits groups that share the three above.")
    n_planned: Count = Field(description="Trials in the plan.")
    n_scorable: Count = Field(
        description="Planned trials that can get a verdict: a case without a check cannot."
    )
    n_auth_error: Count = Field(description="Key missing or refused.")
    passed_rate: Rate | None = Field(description="Passed among trials with a verdict.")
    passed_ci95: Interval | None = Field(description="95 % interval of the mean over cases.")
    score_strict: Rate | None = Field(description="Passed / scorable.")
    score_available: Rate | None = Field(description="Passed / trials with a verdict.")
    coverage: Rate | None = Field(description="Trials with a verdict / scorable.")
    ttft_ms: Percentiles = Field(description="Time to the first token, in the same way.")
    tokens: TokenTotals = Field(description="Sums; null where no trial reported them.")
    cost_usd: UsdSum | None = Field(
        description="Sum over trials with known cost; null without any."
    )
    n_cost_known: Count = Field(description="Trials whose cost is known.")
    output_tokens_per_s: float | None = Field(description="Output tokens / e2e of answered trials.")
    tool_use: ToolUse = Field(description="Rate, interval and routing tier.")
    repetitions: Count = Field(description="Planned trials of the case that has most.")
    repetitions_identical: bool | None = Field(
        description="At least 95 % of repeated cases gave byte-identical answers."
    )
    pass_at_k: tuple[PassK, ...] = Field(description="At least one of k trials passes.")
    pass_hat_k: tuple[PassK, ...] = Field(description="All of k trials pass.")
    n_timeout: Count = Field(description="Trials that timed out.")
    failures: dict[str, Count] = Field(description="Trials by failure_type.")
    success_rate: Rate | None = Field(
        default=None, description="n_success / n_total: what was not served counts as no success."
    )
    n_cases: Count | None = Field(
        default=None, description="Cases with a verdict; null: written before it was kept."
    )
    n_clusters: Count | None = Field(
        default=None,
        description="Units that they make up, where some are in clusters; null: each stands alone.",
    )


class RunSummary(Record):
    """summary.json: a function of the run's data, byte for byte."""

    schema_version: Positive = Field(
        default=SUMMARY_VERSION,
        description="2: intervals are `wilson_shrunk`, of their `estimate`; 1: `wilson_clustered`.",
    )
    generated_at: str | None = Field(description="The run's last ended_at_ms, as UTC ISO 8601.")
    run_id: str
    run_wall_clock_ms: WallClock | None
    models: tuple[GroupSummary, ...]

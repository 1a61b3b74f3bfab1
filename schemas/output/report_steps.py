"""What agents and their tools did in a run, in typed parts of its report."""

from __future__ import annotations

from pydantic import Field

from schemas.base import Count, Positive, Rate, Record, UsdSum
from schemas.output.summary import WallClock
from schemas.run.step import Stop


class StopCount(Record):
    """Trials of one model that ended in one way, of those that have steps."""

    model_id: str
    stop: Stop = Field(description="Why they ended.")
    stop_detail: str | None = Field(description="Which limit, or what the record says of it.")
    n_trials: Positive = Field(description="Trials that ended so.")
    n_passed: Count = Field(description="Of these, those that passed all the same.")


class ToolCount(Record):
    """Calls of one tool by one model."""

    model_id: str
    tool: str | None = Field(description="Null: no name is known.")
    n_cases: Positive = Field(description="Cases in which it was called.")
    n_calls: Positive = Field(description="Calls of the tool.")
    n_results: Count = Field(description="Calls that had a result.")
    n_errors: Count = Field(description="Results that are an error.")
    n_refused: Count = Field(description="Of these, refused for now, as by a rate limit.")
    n_exit_codes: Count = Field(description="Of these, commands with another exit code than 0.")
    n_truncated: Count = Field(description="Results that the model did not read whole.")
    duration_ms: WallClock | None = Field(description="Time of all calls; null: not known.")
    error_rate: Rate | None = Field(
        description="Mean over cases, or clusters of them, of failed results / results."
    )
    error_rate_low: Rate | None = Field(description="95 % interval of that mean, by cases.")
    error_rate_high: Rate | None


class TimeSplit(Record):
    """What the time of one model's trials went into, where both total and model time are known."""

    model_id: str
    n_trials: Positive = Field(description="Trials whose times are known.")
    total_ms: WallClock = Field(description="From start to end of each, added up.")
    setup_ms: WallClock = Field(description="To the first step.")
    model_ms: WallClock = Field(description="Answers of the model.")
    tool_ms: WallClock = Field(description="Tools.")
    retry_ms: WallClock = Field(description="Failed requests, and waiting after them.")
    idle_ms: WallClock = Field(description="The rest.")


class LoopCount(Record):
    """Calls that one model made again and again, with one tool first."""

    model_id: str
    tool: str = Field(description="Of the first call of each loop.")
    n_loops: Positive = Field(description="Calls in a row with equal arguments and results.")
    n_trials: Positive = Field(description="Trials with such a loop.")
    n_calls: Positive = Field(description="Calls in loops.")
    tool_ms: WallClock | None = Field(description="Time of those calls.")
    model_ms: WallClock | None = Field(description="Time of the answers that made them.")
    input_tokens: Count | None = Field(description="Of those answers.")
    output_tokens: Count | None = Field(description="Of those answers.")
    cost_usd: UsdSum | None = Field(description="Of those answers.")


class StepParts(Record):
    """What agents and their tools did in the trials that have steps."""

    stops: tuple[StopCount, ...]
    times: tuple[TimeSplit, ...]
    tools: tuple[ToolCount, ...] = Field(description="Of a model, the most called first.")
    loops: tuple[LoopCount, ...] = Field(description="Of a model, the most calls first.")
    n_left_out: Count = Field(description="Rows that are not here: the rarest of each part.")

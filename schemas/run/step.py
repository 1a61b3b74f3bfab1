"""Steps of a trial: what a model, an agent and its tools did, one row each; text lies apart.

They are made of the trial's trace, for trials in which tools were called and for those of agents;
of a trial that is one answer the result says it all. A number or a hash that nobody knows is null,
never 0.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Count, EpochMillis, Millis, Positive, Record, Slug, Tokens, Usd
from schemas.config.case import Role
from schemas.run.result import CostSource

MAIN = "main"
"""The trajectory of the agent that was asked; one that it started is `main/<its name>`."""

MAX_TEXT_BYTES = 65_536
"""Of UTF-8 that a cell holds of one step; the trace has all."""

StepKind = Literal[
    "message", "reasoning", "tool_call", "tool_result", "compaction", "limit", "error"
]

Effect = Literal["read", "write", "check", "search", "wait", "run"]

Stop = Literal[
    "provider", "harness", "limit", "refusal", "length", "empty", "verifier", "gave_up", "finished"
]
"""Why a trial ended: the first of these words that holds."""

UsageCached = Literal["inside", "beside"]

UsageCounts = Literal["delta", "cumulative"]


class StepKey(Record):
    """Which step of which record of a trial."""

    run_id: str = Field(description="Run the trial belongs to.")
    model_id: Slug = Field(description="Local name of the model.")
    case_id: Slug = Field(description="Case that was asked.")
    repetition: Positive = Field(description="From 1.")
    record_no: Positive = Field(description="Line of results.jsonl with the trial's result.")
    step_no: Positive = Field(description="From 1, in the order of the trace.")


class Step(StepKey):
    """One thing that happened in a trial."""

    attempt: Positive = Field(description="Which record of the trial this is, from 1.")
    trajectory: str = Field(
        description="`main`, or `main/<name>` of an agent that this one started, and so on."
    )
    turn_no: Count = Field(
        description="Answer of the model that it belongs to, by trajectory; 0: before the first."
    )
    kind: StepKind = Field(description="What happened; a failed request is an `error`.")
    role: Role | None = Field(description="Of a message: who said it.")
    requested_model: str | None = Field(description="Model string that was asked for.")
    served_model: str | None = Field(description="Model that answered, as the answer says.")
    tool: str | None = Field(description="Name of the tool, of calls and of their results.")
    call_id: str | None = Field(description="Joins a call and its result.")
    effect: Effect | None = Field(
        description="Of a call, by its tool and its command: `check` looks at work that was done, "
        "`wait` waits for something, `run` may do anything; null: not known."
    )
    target_hash: str | None = Field(
        description="Of the path of the file that a call reads or writes."
    )
    args_hash: str | None = Field(description="Of the raw arguments of a call.")
    result_hash: str | None = Field(description="Of what a tool returned, as far as it was kept.")
    result_norm_hash: str | None = Field(
        description="Of its first 4,096 bytes without digits, times, paths and hexadecimal."
    )
    norm_version: Positive | None = Field(description="How result_norm_hash was made.")
    text_hash: str | None = Field(description="Of the text of any other step.")
    produced_bytes: Count | None = Field(description="Before anything was cut.")
    stored_bytes: Count | None = Field(description="That the trace keeps.")
    shown_bytes: Count | None = Field(description="That the model read.")
    truncated: bool | None = Field(
        description="The model did not read all that was produced; null: nobody says."
    )
    is_error: bool = Field(description="It failed.")
    error_class: str | None = Field(
        description="Of an error: failure_type of a request; of a tool `exit_code`, the limit that "
        "ended it, `rate_limited`, `unavailable` or `tool_error`. Of a limit its name."
    )
    exit_code: int | None = Field(description="Of a command.")
    input_tokens: Tokens | None = Field(description="Of the request that an answer is to.")
    cached_input_tokens: Tokens | None = Field(description="Read from a cache.")
    cache_write_tokens: Tokens | None = Field(description="Written to a cache.")
    output_tokens: Tokens | None = Field(description="Generated, reasoning included.")
    reasoning_tokens: Tokens | None = Field(description="Part of output_tokens.")
    usage_cached: UsageCached | None = Field(
        description="Whether tokens of caches are part of input_tokens or beside them."
    )
    usage_counts: UsageCounts | None = Field(
        description="`delta`: of this answer; `cumulative`: of its trajectory up to here."
    )
    cost_usd: Usd | None = Field(description="Of the answer, counted as its tokens are.")
    cost_source: CostSource | None = Field(description="Who computed it.")
    started_at_ms: EpochMillis | None = Field(description="Wall clock.")
    ended_at_ms: EpochMillis | None = Field(description="Wall clock.")
    duration_ms: Millis | None = Field(
        description="By a clock that nobody sets: of an answer its e2e_ms, of a result its tool's "
        "wall time."
    )
    wait_ms: Millis | None = Field(description="Before a failed request was made again.")
    is_copied_context: bool = Field(
        description="Stands in an earlier trajectory too, and counts there."
    )
    source: str | None = Field(description="file#offset of what it was made of.")


class StepText(StepKey):
    """The text of one step."""

    text: str = Field(
        description="What was said, the arguments of a call, what the model read of a result; at "
        "most 65,536 bytes."
    )
    text_truncated: bool = Field(description="It was cut; the trace has all.")

"""A line of results.jsonl: one result per trial, and the events in between.

Fields of the older tool stand first, in its order, then ours (D-A3). A missing number is null,
never 0.

A line is read strictly: nothing is rounded, dropped or guessed. Arrow and DuckDB both make 2 of 2.5
without a word, and every JSON reader keeps the last of two equal keys; so each line is checked
before a bulk reader sees it. `schemas.lake.rows.parse_log` does that for many lines at once, and
asks this module about every line that is not written as we write it.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, ValidationError

from schemas.base import (
    SCHEMA_VERSION,
    Count,
    EpochMillis,
    JsonText,
    Millis,
    Positive,
    Record,
    Sha256,
    Slug,
    Tokens,
    Unit,
    Usd,
)
from schemas.config.suite import Routing
from schemas.failures import AvailabilityStatus, TrialStatus

MAX_RAW_OUTPUT_BYTES = 65_536
"""Bytes of UTF-8 kept in raw_output; the artifact keeps all."""

CostSource = Literal["provider", "computed"]

CheckOutcome = Literal["passed", "failed", "error"]


class CheckResult(Record):
    """What one deterministic check found."""

    check_id: str
    kind: str
    outcome: CheckOutcome
    message: str | None = None
    reason: str | None = Field(
        default=None, description="Why it could not look, of the outcome `error`."
    )
    dimensions: tuple[str, ...] = Field(default=(), description="Dimensions it speaks for.")
    check_hash: str | None = Field(
        default=None, description="First 16 hex digits of the hash of the check, as it was made."
    )
    detail: str | None = Field(
        default=None, description="What a hook returned beside its verdict, as JSON text."
    )


class Score(Record):
    """A number that a trial was given, by name."""

    name: str = Field(description="Of the scorer or metric, and of a part of it behind a `/`.")
    value: float | None = Field(description="Null: it was not scored.")


class Result(Record):
    """The outcome of one trial."""

    record_type: Literal["result"] = Field(default="result", description="Always `result`.")
    run_id: str = Field(description="Run the trial belongs to.")
    provider: str = Field(description="Transport the request went through.")
    model: str = Field(description="Model string, as requested.")
    thinking_level: str | None = Field(description="Reasoning effort asked for.")
    prompt_id: str = Field(description="case_id, or the id in the prompt list.")
    prompt_name: str | None = Field(description="Title of the case, or name in the prompt list.")
    availability_status: AvailabilityStatus = Field(
        description="Whether the provider served us, not whether the model did well."
    )
    started_at_ms: EpochMillis = Field(description="Wall clock before the trial.")
    ended_at_ms: EpochMillis = Field(description="Wall clock after the trial.")
    e2e_ms: Millis | None = Field(
        description="First request byte written to last response byte, summed over turns."
    )
    ttft_ms: Millis | None = Field(description="To the first content token of the first turn.")
    success: bool = Field(description="The model answered without an error.")
    failure_type: str | None = Field(description="Reason code when success is false.")
    objective_pass: bool | None = Field(description="The validator's verdict.")
    violation: str | None = Field(description="Why objective_pass is false.")
    input_tokens: Tokens | None = Field(description="Prompt tokens, cached ones included.")
    output_tokens: Tokens | None = Field(description="Generated tokens, reasoning included.")
    raw_output: str = Field(description="The final text, at most 65,536 bytes.")
    parsed_output: JsonText = Field(default=None, description="What the validator extracted.")
    tool_calls: tuple[str, ...] = Field(description="Distinct tool names, in order.")
    tool_call_count: Count = Field(description="Length of tool_calls.")
    tool_use_success: bool = Field(description="At least one expected tool was invoked.")

    schema_version: Positive = Field(default=SCHEMA_VERSION, description="Of this line.")
    suite_id: str = Field(description="Suite the run was made from.")
    case_id: Slug = Field(description="Case that was asked.")
    model_id: Slug = Field(description="Local name of the model.")
    repetition: Positive = Field(description="From 1.")
    case_hash: Sha256 | None = Field(description="Of all that reaches the model or judges it.")
    run_fingerprint: Sha256 | None = Field(description="Of all that can change the output.")
    fingerprint_version: Positive | None = Field(description="How run_fingerprint was made.")
    runner_type: str = Field(description="Runner that executed the trial.")
    status: TrialStatus = Field(description="How the trial ended.")
    passed: bool | None = Field(description="The verdict; null when there is none.")
    error_code: str | None = Field(description="The server's or our own finer code.")
    error_message: str | None = Field(description="What was said about the failure, redacted.")
    http_status: Annotated[int, Field(ge=100, le=599)] | None = Field(
        description="Of the last attempt."
    )
    attempt_count: Count = Field(description="Requests made; 0 when none was.")
    requested_model: str | None = Field(description="Model string in the request.")
    served_model: str | None = Field(description="Model named in the answer.")
    served_provider: str | None = Field(description="Upstream named in the answer.")
    finish_reason: str | None = Field(description="As the server said it.")
    reasoning_tokens: Tokens | None = Field(description="Part of output_tokens.")
    cached_input_tokens: Tokens | None = Field(description="Part of input_tokens.")
    cost_usd: Usd | None = Field(description="Cost of the trial; null when unknown.")
    cost_source: CostSource | None = Field(description="Who computed it.")
    token_source: str | None = Field(description="Where the token counts come from.")
    validator_type: str | None = Field(description="Validator of the case.")
    checks_passed: Count = Field(description="Deterministic checks that passed.")
    checks_failed: Count = Field(description="Deterministic checks that failed.")
    checks_errored: Count = Field(description="Deterministic checks that could not run.")
    checks: tuple[CheckResult, ...] = Field(description="Each deterministic check.")
    expected_tools: tuple[str, ...] = Field(description="Of the validator and the case together.")
    tool_call_source: Literal["api", "text"] | None = Field(description="Where calls were seen.")
    tags: tuple[str, ...] = Field(description="Of the case.")
    raw_output_truncated: bool = Field(description="raw_output was cut.")
    artifact_path: str | None = Field(description="file#offset of the whole trace.")
    reused_from_run_id: str | None = Field(description="Run the answer was taken from.")
    clock_late_ms: Annotated[int, Field(ge=0), Unit("ms")] | None = Field(
        description="How late the collector's own loop was meanwhile, at worst."
    )
    routing: Routing | None = Field(
        default=None, description="Whether a router could choose who serves; null: no router."
    )
    elapsed_ms: Millis | None = Field(
        default=None,
        description="The run's own time at the end of the trial, by a clock that nobody sets: from "
        "its first trial on, sessions of a resumed run added up.",
    )
    tool_ms: Millis | None = Field(
        default=None,
        description="Wall time of the tools that the model called, beside e2e_ms; null: none was.",
    )
    scores: tuple[Score, ...] = Field(
        default=(), description="Numbers that another tool gave an imported trial, in its order."
    )


class Event(Record):
    """Something that happened to the run rather than to one trial."""

    record_type: Literal["event"] = Field(default="event", description="Always `event`.")
    run_id: str = Field(description="Run it happened to.")
    event: str = Field(description="What happened.")
    at_ms: EpochMillis = Field(description="When, by the wall clock.")
    model_id: Slug | None = Field(default=None, description="Model it is about, if one.")
    detail: JsonText = Field(default=None, description="What else there is to say.")
    schema_version: Positive = Field(default=SCHEMA_VERSION, description="Of this line.")


class LakeColumns(Record):
    """What the lake adds to a line when it becomes a row."""

    record_no: Positive = Field(description="Line number in results.jsonl; the highest counts.")
    output_hash: str = Field(description="First 16 hex digits of the sha256 of raw_output.")
    supersedes: Positive | None = Field(
        default=None, description="Record of the same trial that this one replaces, if any."
    )


OUTPUT_FIELDS = ("raw_output", "parsed_output", "error_message")
"""Text that lies in the lake's `outputs`, apart from the numbers in `results`."""

TRIAL_KEY = ("run_id", "model_id", "case_id", "repetition")


def cut(text: str, limit: int = MAX_RAW_OUTPUT_BYTES) -> tuple[str, bool]:
    """Return at most `limit` bytes of UTF-8, cut between characters, and whether it was cut."""
    raw = text.encode()
    if len(raw) <= limit:
        return text, False
    return raw[:limit].decode(errors="ignore"), True


class LineError(ValueError):
    """The line is no record; the text says why."""


def parse_line(line: bytes) -> Result | Event:
    """Return the record on a line that ends in a newline; fields we do not know are passed over.

    Raises:
        LineError: it is not JSON, has a key twice, or does not fit the declaration.
    """
    kind = content_of(line).get("record_type")
    try:
        if kind == "result":
            return Result.model_validate_json(line, strict=True, extra="ignore")
        if kind == "event":
            return Event.model_validate_json(line, strict=True, extra="ignore")
    except ValidationError as exc:
        raise LineError(misfit(exc)) from exc
    message = f"record_type {kind!r} is unknown"
    raise LineError(message)


def misfit(exc: ValidationError) -> str:
    """Return the first thing that does not fit a declaration, in a sentence."""
    first = exc.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"`{where}`: {first['msg']}"


def content_of(line: bytes) -> dict[str, Any]:
    """Return the JSON object on a line; long integers may be rounded.

    Raises:
        LineError: there is none, or it has a key twice.
    """
    try:
        content = orjson.loads(line)
        # one that writes back to its own bytes has no key twice, which is ten times quicker to tell
        if orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE) != line:
            content = json.loads(line, object_pairs_hook=_object)
    except (orjson.JSONDecodeError, RecursionError, orjson.JSONEncodeError) as exc:
        message = f"not a JSON object ({exc})"
        raise LineError(message) from exc
    if not isinstance(content, dict):
        message = f"not a JSON object (found {type(content).__name__})"
        raise LineError(message)
    return content


def loose_content_of(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object on a line, None where there is none; of a key's values the last."""
    try:
        content = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return content if isinstance(content, dict) else None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        message = f"the key {twice!r} stands there twice"
        raise LineError(message)
    return content

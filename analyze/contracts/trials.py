"""Rows of the views with a row a trial: results, attempts, failures, texts."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from pydantic import Field

from analyze.contracts.base import STARTED_AT, TRIAL_ORDER, GroupRow, like
from schemas.base import Count, EpochMillis, Millis, Positive, Tokens, Usd
from schemas.run.result import CheckResult

IS_OK = "The provider served the trial."
IS_SUCCESS = "Served, and ended without an error."
CAUSE = "Whose fault: model, provider, infrastructure, harness or configuration; null: unknown."
COUNTS = "A failed trial of the model rather than one without a verdict."


class TrialRow(GroupRow):
    """A row that belongs to one record of one trial."""

    suite_id: str = like("suite_id")
    case_id: str = like("case_id")
    repetition: Positive = like("repetition")
    record_no: Positive = Field(description="Line number in results.jsonl.")


class ResultsRow(TrialRow):
    """One trial with a result."""

    view: ClassVar[str] = "results"
    order: ClassVar[str] = TRIAL_ORDER

    reused_from_run_id: str | None = like("reused_from_run_id")
    prompt_id: str = like("prompt_id")
    prompt_name: str | None = like("prompt_name")
    case_hash: str | None = like("case_hash")
    run_fingerprint: str | None = like("run_fingerprint")
    fingerprint_version: Positive | None = like("fingerprint_version")
    runner_type: str = like("runner_type")
    validator_type: str | None = like("validator_type")
    expected_tools: tuple[str, ...] = like("expected_tools")
    tags: tuple[str, ...] = like("tags")
    requested_model: str | None = like("requested_model")
    served_model: str | None = like("served_model")
    served_provider: str | None = like("served_provider")
    routing: str | None = like("routing")
    availability_status: str = like("availability_status")
    status: str = like("status")
    failure_type: str | None = like("failure_type")
    error_code: str | None = like("error_code")
    http_status: int | None = like("http_status")
    attempt_count: Count = like("attempt_count")
    finish_reason: str | None = like("finish_reason")
    is_ok: bool = Field(description=IS_OK)
    is_success: bool = Field(description=IS_SUCCESS)
    cause: str | None = Field(description=CAUSE)
    counts_against_model: bool | None = Field(description=f"{COUNTS[:-1]}; null: answered.")
    passed: bool | None = like("passed")
    objective_pass: bool | None = like("objective_pass")
    violation: str | None = like("violation")
    checks_passed: Count = like("checks_passed")
    checks_failed: Count = like("checks_failed")
    checks_errored: Count = like("checks_errored")
    checks: tuple[CheckResult, ...] = like("checks")
    tool_calls: tuple[str, ...] = like("tool_calls")
    tool_call_count: Count = like("tool_call_count")
    tool_call_source: str | None = like("tool_call_source")
    tool_use_success: bool = like("tool_use_success")
    output_hash: str = like("output_hash")
    raw_output_truncated: bool = like("raw_output_truncated")
    started_at_ms: EpochMillis = like("started_at_ms")
    started_at: datetime | None = Field(description=STARTED_AT)
    ended_at_ms: EpochMillis = like("ended_at_ms")
    e2e_ms: Millis | None = like("e2e_ms")
    ttft_ms: Millis | None = like("ttft_ms")
    clock_late_ms: Millis | None = like("clock_late_ms")
    elapsed_ms: Millis | None = like("elapsed_ms")
    input_tokens: Tokens | None = like("input_tokens")
    output_tokens: Tokens | None = like("output_tokens")
    reasoning_tokens: Tokens | None = like("reasoning_tokens")
    cached_input_tokens: Tokens | None = like("cached_input_tokens")
    token_source: str | None = like("token_source")
    cost_usd: Usd | None = like("cost_usd")
    cost_source: str | None = like("cost_source")
    artifact_path: str | None = like("artifact_path")


class AttemptsRow(TrialRow):
    """One record of a trial, also one that a later record supersedes."""

    view: ClassVar[str] = "attempts"
    order: ClassVar[str] = "run_id, record_no"

    supersedes: Positive | None = Field(
        description="Earlier record of the trial that this one replaces; null: the first."
    )
    superseded_by: Positive | None = Field(
        description="Later record that replaces this one; null: this one counts."
    )
    is_current: bool = Field(description="The record that counts.")
    reused_from_run_id: str | None = like("reused_from_run_id")
    availability_status: str = like("availability_status")
    status: str = like("status")
    failure_type: str | None = like("failure_type")
    error_code: str | None = like("error_code")
    http_status: int | None = like("http_status")
    attempt_count: Count = like("attempt_count")
    finish_reason: str | None = like("finish_reason")
    is_ok: bool = Field(description=IS_OK)
    is_success: bool = Field(description=IS_SUCCESS)
    passed: bool | None = like("passed")
    started_at_ms: EpochMillis = like("started_at_ms")
    started_at: datetime | None = Field(description=STARTED_AT)
    ended_at_ms: EpochMillis = like("ended_at_ms")
    e2e_ms: Millis | None = like("e2e_ms")
    ttft_ms: Millis | None = like("ttft_ms")
    input_tokens: Tokens | None = like("input_tokens")
    output_tokens: Tokens | None = like("output_tokens")
    cost_usd: Usd | None = like("cost_usd")
    artifact_path: str | None = like("artifact_path")


class FailuresRow(TrialRow):
    """One trial that was not answered."""

    view: ClassVar[str] = "failures"
    order: ClassVar[str] = TRIAL_ORDER

    failure_type: str = Field(description="Reason code; `unknown` where the record has none.")
    cause: str | None = Field(description=CAUSE)
    counts_against_model: bool = Field(description=COUNTS)
    is_retryable: bool | None = Field(
        description="Worth asking again; null where the reason code is not known."
    )
    availability_status: str = like("availability_status")
    status: str = like("status")
    error_code: str | None = like("error_code")
    http_status: int | None = like("http_status")
    attempt_count: Count = like("attempt_count")
    finish_reason: str | None = like("finish_reason")
    passed: bool | None = like("passed")
    started_at_ms: EpochMillis = like("started_at_ms")
    started_at: datetime | None = Field(description=STARTED_AT)
    e2e_ms: Millis | None = like("e2e_ms")
    error_message: str | None = like("error_message", "outputs")
    artifact_path: str | None = like("artifact_path")


class OutputsRow(TrialRow):
    """The text of one trial."""

    view: ClassVar[str] = "outputs"
    order: ClassVar[str] = TRIAL_ORDER

    passed: bool | None = like("passed")
    violation: str | None = like("violation")
    raw_output: str = like("raw_output", "outputs")
    raw_output_truncated: bool = like("raw_output_truncated")
    parsed_output: str | None = Field(
        description="What the validator extracted, as JSON text; null: nothing."
    )
    error_message: str | None = like("error_message", "outputs")
    output_hash: str = like("output_hash")
    artifact_path: str | None = like("artifact_path")

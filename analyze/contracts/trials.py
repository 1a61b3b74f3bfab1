"""Rows of the views about trials, and of those that say what was asked.

A row a trial: results, attempts, failures, texts. What was asked: runs, models, cases, planned
trials, events.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from pydantic import Field

from analyze.contracts.base import STARTED_AT, TRIAL_ORDER, GroupRow, ViewRow, same_column
from schemas.base import Count, EpochMillis, Millis, Positive, Tokens, Usd
from schemas.run.alias import AliasOrigin
from schemas.run.config import FingerprintParts
from schemas.run.result import CheckResult

IS_OK = "The provider served the trial."
IS_SUCCESS = "Served, and ended without an error."
CAUSE = "Whose fault: model, provider, infrastructure, harness or configuration; null: unknown."
COUNTS = "A failed trial of the model rather than one without a verdict."


class TrialRow(GroupRow):
    """A row that belongs to one record of one trial."""

    suite_id: str = same_column("suite_id")
    case_id: str = same_column("case_id")
    repetition: Positive = same_column("repetition")
    record_no: Positive = Field(description="Line number in results.jsonl.")


class ResultsRow(TrialRow):
    """One trial with a result."""

    view: ClassVar[str] = "results"
    order: ClassVar[str] = TRIAL_ORDER

    reused_from_run_id: str | None = same_column("reused_from_run_id")
    prompt_id: str = same_column("prompt_id")
    prompt_name: str | None = same_column("prompt_name")
    case_hash: str | None = same_column("case_hash")
    run_fingerprint: str | None = same_column("run_fingerprint")
    fingerprint_version: Positive | None = same_column("fingerprint_version")
    runner_type: str = same_column("runner_type")
    validator_type: str | None = same_column("validator_type")
    expected_tools: tuple[str, ...] = same_column("expected_tools")
    tags: tuple[str, ...] = same_column("tags")
    requested_model: str | None = same_column("requested_model")
    served_model: str | None = same_column("served_model")
    served_provider: str | None = same_column("served_provider")
    routing: str | None = same_column("routing")
    availability_status: str = same_column("availability_status")
    status: str = same_column("status")
    failure_type: str | None = same_column("failure_type")
    error_code: str | None = same_column("error_code")
    http_status: int | None = same_column("http_status")
    attempt_count: Count = same_column("attempt_count")
    finish_reason: str | None = same_column("finish_reason")
    is_ok: bool = Field(description=IS_OK)
    is_success: bool = Field(description=IS_SUCCESS)
    cause: str | None = Field(description=CAUSE)
    counts_against_model: bool | None = Field(description=f"{COUNTS[:-1]}; null: answered.")
    passed: bool | None = same_column("passed")
    objective_pass: bool | None = same_column("objective_pass")
    violation: str | None = same_column("violation")
    checks_passed: Count = same_column("checks_passed")
    checks_failed: Count = same_column("checks_failed")
    checks_errored: Count = same_column("checks_errored")
    checks: tuple[CheckResult, ...] = same_column("checks")
    tool_calls: tuple[str, ...] = same_column("tool_calls")
    tool_call_count: Count = same_column("tool_call_count")
    tool_call_source: str | None = same_column("tool_call_source")
    tool_use_success: bool = same_column("tool_use_success")
    output_hash: str = same_column("output_hash")
    raw_output_truncated: bool = same_column("raw_output_truncated")
    started_at_ms: EpochMillis = same_column("started_at_ms")
    started_at: datetime | None = Field(description=STARTED_AT)
    ended_at_ms: EpochMillis = same_column("ended_at_ms")
    e2e_ms: Millis | None = same_column("e2e_ms")
    ttft_ms: Millis | None = same_column("ttft_ms")
    clock_late_ms: Millis | None = same_column("clock_late_ms")
    elapsed_ms: Millis | None = same_column("elapsed_ms")
    input_tokens: Tokens | None = same_column("input_tokens")
    output_tokens: Tokens | None = same_column("output_tokens")
    reasoning_tokens: Tokens | None = same_column("reasoning_tokens")
    cached_input_tokens: Tokens | None = same_column("cached_input_tokens")
    token_source: str | None = same_column("token_source")
    cost_usd: Usd | None = same_column("cost_usd")
    cost_source: str | None = same_column("cost_source")
    artifact_path: str | None = same_column("artifact_path")


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
    reused_from_run_id: str | None = same_column("reused_from_run_id")
    availability_status: str = same_column("availability_status")
    status: str = same_column("status")
    failure_type: str | None = same_column("failure_type")
    error_code: str | None = same_column("error_code")
    http_status: int | None = same_column("http_status")
    attempt_count: Count = same_column("attempt_count")
    finish_reason: str | None = same_column("finish_reason")
    is_ok: bool = Field(description=IS_OK)
    is_success: bool = Field(description=IS_SUCCESS)
    passed: bool | None = same_column("passed")
    started_at_ms: EpochMillis = same_column("started_at_ms")
    started_at: datetime | None = Field(description=STARTED_AT)
    ended_at_ms: EpochMillis = same_column("ended_at_ms")
    e2e_ms: Millis | None = same_column("e2e_ms")
    ttft_ms: Millis | None = same_column("ttft_ms")
    input_tokens: Tokens | None = same_column("input_tokens")
    output_tokens: Tokens | None = same_column("output_tokens")
    cost_usd: Usd | None = same_column("cost_usd")
    artifact_path: str | None = same_column("artifact_path")


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
    availability_status: str = same_column("availability_status")
    status: str = same_column("status")
    error_code: str | None = same_column("error_code")
    http_status: int | None = same_column("http_status")
    attempt_count: Count = same_column("attempt_count")
    finish_reason: str | None = same_column("finish_reason")
    passed: bool | None = same_column("passed")
    started_at_ms: EpochMillis = same_column("started_at_ms")
    started_at: datetime | None = Field(description=STARTED_AT)
    e2e_ms: Millis | None = same_column("e2e_ms")
    error_message: str | None = same_column("error_message", "outputs")
    artifact_path: str | None = same_column("artifact_path")


class OutputsRow(TrialRow):
    """The text of one trial."""

    view: ClassVar[str] = "outputs"
    order: ClassVar[str] = TRIAL_ORDER

    passed: bool | None = same_column("passed")
    violation: str | None = same_column("violation")
    raw_output: str = same_column("raw_output", "outputs")
    raw_output_truncated: bool = same_column("raw_output_truncated")
    parsed_output: str | None = Field(
        description="What the validator extracted, as JSON text; null: nothing."
    )
    error_message: str | None = same_column("error_message", "outputs")
    output_hash: str = same_column("output_hash")
    artifact_path: str | None = same_column("artifact_path")


class RunsRow(ViewRow):
    """One run: what was asked, and which run came before."""

    view: ClassVar[str] = "runs"
    order: ClassVar[str] = "started_at_ms nulls first, run_id"

    run_id: str = same_column("run_id", "runs")
    suite_id: str = same_column("suite_id", "runs")
    suite_title: str = same_column("suite_title", "runs")
    run_profile_id: str | None = same_column("run_profile_id", "runs")
    run_group: str | None = same_column("run_group", "runs")
    labels: tuple[str, ...] = same_column("labels", "runs")
    started_at_ms: EpochMillis | None = same_column("started_at_ms", "runs")
    started_at: datetime | None = Field(description=STARTED_AT)
    benchlake_version: str | None = same_column("benchlake_version", "runs")
    n_planned: Count = same_column("n_planned", "runs")
    max_cost_usd: Usd | None = same_column("max_cost_usd", "runs")
    judge_hash: str | None = same_column("judge_hash", "runs")
    machine: str | None = same_column("machine", "runs")
    is_imported: bool = same_column("is_imported", "runs")
    is_narrowed: bool = same_column("is_narrowed", "runs")
    run_no: Positive = Field(description="Place among the runs of its suite, by start, from 1.")
    previous_run_id: str | None = Field(
        description="Run of the same suite that started before; null for the first."
    )


class ModelsRow(ViewRow):
    """One model, over all runs."""

    view: ClassVar[str] = "models"
    order: ClassVar[str] = "provider, model, thinking_level nulls first, model_id"

    provider: str = Field(description="Transport the requests went through.")
    model: str = Field(description="Model string, as requested.")
    thinking_level: str | None = Field(
        description="Reasoning effort asked for; null where none was."
    )
    model_id: str = Field(description="Local name of the model.")
    model_label: str | None = Field(
        description="Name for people, as the newest run that has one says; null: none has."
    )
    n_runs: Positive = Field(description="Runs that planned it.")
    n_planned: Positive = Field(description="Planned trials of all runs.")
    n_total: Count = Field(description="Trials with a result.")
    n_success: Count = Field(description="Served trials that ended without an error.")
    n_served_models: Count = Field(
        description="Different models that answers named; more than 1: the name hid a change."
    )
    first_started_at_ms: EpochMillis | None = Field(
        description="First start of a trial that was not reused, in ms since 1970-01-01 UTC."
    )
    last_started_at_ms: EpochMillis | None = Field(
        description="Last start of a trial that was not reused, in ms since 1970-01-01 UTC."
    )


class CasesRow(ViewRow):
    """One case with one content, over all runs."""

    view: ClassVar[str] = "cases"
    order: ClassVar[str] = "suite_id, case_id, case_hash nulls first"

    suite_id: str = Field(description="Suite that asked it.")
    case_id: str = Field(description="Name of the case.")
    case_hash: str | None = Field(
        description="Of all that reaches the model or judges it; null: unknown, older shape."
    )
    prompt_id: str = Field(description="case_id, or the id in the prompt list.")
    prompt_name: str | None = Field(description="Title of the case, or name in the prompt list.")
    validator_type: str | None = Field(description="Validator of the case.")
    is_scorable: bool = Field(description="Can get a verdict: a validator that judges, or checks.")
    has_expected_tools: bool = Field(description="Names tools that the model should use.")
    cluster: str | None = same_column("cluster", "plans")
    n_runs: Positive = Field(description="Runs that planned it.")
    n_planned: Positive = Field(description="Planned trials of all runs and models.")
    first_run_at_ms: EpochMillis | None = Field(
        description="Start of the first such run, in ms since 1970-01-01 UTC."
    )
    last_run_at_ms: EpochMillis | None = Field(
        description="Start of the last such run, in ms since 1970-01-01 UTC."
    )
    is_current: bool = Field(description="The content that the case's last run asked.")


class PlannedTrialsRow(GroupRow):
    """One planned trial and whether it is there."""

    view: ClassVar[str] = "planned_trials"
    order: ClassVar[str] = TRIAL_ORDER

    suite_id: str = same_column("suite_id")
    case_id: str = same_column("case_id")
    repetition: Positive = same_column("repetition")
    trial_no: Count = same_column("trial_no", "plans")
    prompt_id: str = same_column("prompt_id")
    prompt_name: str | None = same_column("prompt_name")
    case_hash: str | None = same_column("case_hash")
    run_fingerprint: str | None = same_column("run_fingerprint")
    fingerprint_parts: FingerprintParts | None = Field(
        description="What run_fingerprint is made of, each as the beginning of a hash: says where "
        "two trials differ; null in a folder of the older shape."
    )
    runner_type: str = Field(description="Runner that is to execute the trial.")
    validator_type: str | None = same_column("validator_type")
    is_scorable: bool = same_column("is_scorable", "plans")
    expected_tools: tuple[str, ...] = same_column("expected_tools")
    tags: tuple[str, ...] = same_column("tags")
    cluster: str | None = same_column("cluster", "plans")
    has_result: bool = Field(description="The trial ran, or was reused.")
    state: str = Field(description="`present` or `missing`.")
    record_no: Positive | None = Field(
        description="Line of results.jsonl that counts; null while the trial is missing."
    )
    failure_type: str | None = same_column("failure_type")
    passed: bool | None = Field(description="The verdict; null when there is none yet.")


class CaseAliasesRow(ViewRow):
    """An id of a case that stands for a newer one."""

    view: ClassVar[str] = "case_aliases"
    order: ClassVar[str] = "suite_id, old_case_id"

    suite_id: str = same_column("suite_id", "aliases")
    old_case_id: str = same_column("old_case_id", "aliases")
    case_id: str = Field(description="Newest id of the case, at the end of every chain.")
    joined_to: str = Field(description="Id it was joined to, as somebody said.")
    origin: AliasOrigin = same_column("origin", "aliases")
    recorded_at_ms: EpochMillis = Field(
        description="When it was joined, or its chain changed, in ms since 1970-01-01 UTC."
    )


class EventsRow(ViewRow):
    """Something that happened to a run."""

    view: ClassVar[str] = "events"
    order: ClassVar[str] = "run_id, record_no"

    run_id: str = Field(description="Run it happened to.")
    record_no: Positive = Field(description="Line number in results.jsonl.")
    at_ms: EpochMillis | None = Field(
        description="When, in ms since 1970-01-01 UTC; null in a folder of the older shape."
    )
    event: str = Field(description="What happened.")
    model_id: str | None = Field(description="Model it was about; null: the whole run.")
    detail: str | None = Field(description="What else is known, as JSON text.")

"""Rows of the views about runs and trials, and about what was asked.

What happened: trials, their records, failures, texts. What was asked: runs, models, cases, planned
trials, events.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from pydantic import Field

from analyze.contracts.base import (
    GROUP,
    STARTED_AT,
    TRIAL_ORDER,
    Columns,
    ViewRow,
    columns_of,
    raw_columns,
    same_column,
    view_row,
)
from schemas.base import Count, EpochMillis, Positive, Usd
from schemas.run.alias import AliasRow
from schemas.run.config import FingerprintParts
from schemas.run.evaluation import Evaluation, EvaluationColumns
from schemas.run.result import CheckResult

DECIDING_PROFILE = (
    "Evaluation profile whose judges have a say in `passed`: the run's own, or the one asked for; "
    "null: none has."
)
COUNTS = "A failed trial of the model rather than one without a verdict"

TRIAL: Columns = {
    **GROUP,
    "record_no": (Positive, "Line number in results.jsonl."),
    "is_ok": (bool, "The provider served the trial."),
    "is_success": (bool, "Served, and ended without an error."),
    "cause": (
        str | None,
        "Whose fault: model, provider, infrastructure, harness or configuration; null: unknown.",
    ),
    "started_at": (datetime | None, STARTED_AT),
}
"""Columns of one record of one trial that mean the same in every view."""

EVALUATION: Columns = {
    "record_no": (Positive, "Line of results.jsonl that was looked at."),
    "evaluation_no": (Positive, "Line number in evaluations.jsonl."),
    "evaluated_at_ms": (EpochMillis, "Wall clock, when it was done, in ms since 1970-01-01 UTC."),
    "evaluated_at": (
        datetime | None,
        "evaluated_at_ms as a timestamp in UTC; null also beyond the year 9999.",
    ),
}
"""Columns of one look at a record."""

TRIAL_KEY = """
    run_id provider model thinking_level model_id suite_id case_id repetition record_no
"""

ResultsRow = view_row(
    "results",
    TRIAL_ORDER,
    f"""
    {TRIAL_KEY}
    reused_from_run_id prompt_id prompt_name case_hash run_fingerprint fingerprint_version
    runner_type validator_type expected_tools tags
    requested_model served_model served_provider routing
    availability_status status failure_type error_code http_status attempt_count finish_reason
    is_ok is_success cause counts_against_model
    passed deciding_profile_id objective_pass violation
    checks_passed checks_failed checks_errored checks
    tool_calls tool_call_count tool_call_source tool_use_success output_hash raw_output_truncated
    started_at_ms started_at ended_at_ms e2e_ms ttft_ms clock_late_ms elapsed_ms
    tool_ms
    input_tokens output_tokens reasoning_tokens cached_input_tokens token_source
    cost_usd cost_source artifact_path
    """,
    TRIAL,
    counts_against_model=(bool | None, f"{COUNTS}; null: answered."),
    deciding_profile_id=(str | None, DECIDING_PROFILE),
)

AttemptsRow = view_row(
    "attempts",
    "run_id, record_no",
    f"""
    {TRIAL_KEY} supersedes superseded_by is_current reused_from_run_id availability_status status
    failure_type error_code http_status attempt_count finish_reason is_ok is_success passed
    started_at_ms started_at ended_at_ms e2e_ms ttft_ms input_tokens output_tokens cost_usd
    artifact_path
    """,
    TRIAL,
    supersedes=(
        Positive | None,
        "Earlier record of the trial that this one replaces; null: the first.",
    ),
    superseded_by=(Positive | None, "Later record that replaces this one; null: this one counts."),
    is_current=(bool, "The record that counts."),
)

FailuresRow = view_row(
    "failures",
    TRIAL_ORDER,
    f"""
    {TRIAL_KEY} failure_type cause counts_against_model is_retryable availability_status status
    error_code http_status attempt_count finish_reason passed started_at_ms started_at e2e_ms
    error_message artifact_path
    """,
    TRIAL,
    failure_type=(str, "Reason code; `unknown` where the record has none."),
    counts_against_model=(bool, f"{COUNTS}."),
    is_retryable=(bool | None, "Worth asking again; null where the reason code is not known."),
)

OutputsRow = view_row(
    "outputs",
    TRIAL_ORDER,
    f"""
    {TRIAL_KEY} passed violation raw_output raw_output_truncated parsed_output error_message
    output_hash artifact_path
    """,
    TRIAL,
    parsed_output=(str | None, "What the validator extracted, as JSON text; null: nothing."),
)

PlannedTrialsRow = view_row(
    "planned_trials",
    TRIAL_ORDER,
    """
    run_id provider model thinking_level model_id suite_id case_id repetition trial_no prompt_id
    prompt_name case_hash run_fingerprint fingerprint_parts runner_type validator_type is_scorable
    expected_tools tags cluster has_result state record_no failure_type passed
    """,
    GROUP,
    fingerprint_parts=(
        FingerprintParts | None,
        "What run_fingerprint is made of, each as the beginning of a hash: says where two "
        "trials differ; null in a folder of the older shape.",
    ),
    runner_type=(str, "Runner that is to execute the trial."),
    has_result=(bool, "The trial ran, or was reused."),
    state=(str, "`present` or `missing`."),
    record_no=(
        Positive | None,
        "Line of results.jsonl that counts; null while the trial is missing.",
    ),
    passed=(bool | None, "The verdict; null when there is none yet."),
)


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
    evaluation_profile_id: str | None = same_column("evaluation_profile_id", "runs")
    deciding_profile_id: str | None = Field(description=DECIDING_PROFILE)
    judge_hash: str | None = Field(
        description="Of the judges of that profile, their prompt and aggregation; null: no judge "
        "decides a verdict."
    )
    machine: str | None = same_column("machine", "runs")
    is_imported: bool = same_column("is_imported", "runs")
    is_narrowed: bool = same_column("is_narrowed", "runs")
    run_no: Positive = Field(description="Place among the runs of its suite, by start, from 1.")
    previous_run_id: str | None = Field(
        description="Run of the same suite that started before; null for the first."
    )


ModelsRow = view_row(
    "models",
    "provider, model, thinking_level nulls first, model_id",
    "provider model thinking_level model_id",
    GROUP,
    model_label=(
        str | None,
        "Name for people, as the newest run that has one says; null: none has.",
    ),
    n_runs=(Positive, "Runs that planned it."),
    n_planned=(Positive, "Planned trials of all runs."),
    n_total=(Count, "Trials with a result."),
    n_success=(Count, "Served trials that ended without an error."),
    n_served_models=(
        Count,
        "Different models that answers named; more than 1: the name hid a change.",
    ),
    first_started_at_ms=(
        EpochMillis | None,
        "First start of a trial that was not reused, in ms since 1970-01-01 UTC.",
    ),
    last_started_at_ms=(
        EpochMillis | None,
        "Last start of a trial that was not reused, in ms since 1970-01-01 UTC.",
    ),
)

CasesRow = view_row(
    "cases",
    "suite_id, case_id, case_hash nulls first",
    """
    suite_id case_id case_hash prompt_id prompt_name validator_type is_scorable has_expected_tools
    cluster
    """,
    suite_id=(str, "Suite that asked it."),
    case_id=(str, "Name of the case."),
    case_hash=(
        str | None,
        "Of all that reaches the model or judges it; null: unknown, older shape.",
    ),
    has_expected_tools=(bool, "Names tools that the model should use."),
    n_runs=(Positive, "Runs that planned it."),
    n_planned=(Positive, "Planned trials of all runs and models."),
    first_run_at_ms=(
        EpochMillis | None,
        "Start of the first such run, in ms since 1970-01-01 UTC.",
    ),
    last_run_at_ms=(EpochMillis | None, "Start of the last such run, in ms since 1970-01-01 UTC."),
    is_current=(bool, "The content that the case's last run asked."),
)

CaseAliasesRow = view_row(
    "case_aliases",
    "suite_id, old_case_id",
    "suite_id old_case_id case_id joined_to origin",
    raw_columns("aliases", AliasRow),
    case_id=(str, "Newest id of the case, at the end of every chain."),
    joined_to=(str, "Id it was joined to, as somebody said."),
    recorded_at_ms=(
        EpochMillis,
        "When it was joined, or its chain changed, in ms since 1970-01-01 UTC.",
    ),
)

EvaluationsRow = view_row(
    "evaluations",
    "run_id, evaluation_no",
    f"""
    {TRIAL_KEY} evaluation_no kind evaluated_at_ms evaluated_at evaluation_profile_id case_hash
    is_scorable passed checks_passed checks_failed checks_errored is_current benchlake_version
    """,
    EVALUATION,
    TRIAL,
    raw_columns("evaluations", Evaluation, EvaluationColumns),
    is_current=(bool, "The one that decides its trial: the newest of the record that counts."),
)

ChecksRow = view_row(
    "checks",
    f"{TRIAL_ORDER}, check_id, check_hash nulls first",
    f"""
    {TRIAL_KEY} check_id check_hash kind outcome message reason dimensions detail evaluated_at_ms
    evaluation_no is_current
    """,
    TRIAL,
    columns_of(CheckResult),
    check_id=(str, "Name of the check in its case."),
    kind=(str, "What kind of check it is."),
    outcome=(str, "`passed`, `failed` or `error`."),
    message=(str | None, "What it found; null: it passed, or has nothing to say."),
    dimensions=(tuple[str, ...], "Dimensions it speaks for; null: made before there were any."),
    evaluated_at_ms=(
        EpochMillis | None,
        "When it was made, in ms since 1970-01-01 UTC; null: by the run itself.",
    ),
    evaluation_no=(
        Positive | None,
        "Line of evaluations.jsonl it stands in; null: in the result itself.",
    ),
    is_current=(bool, "Belongs to the checks that decide the verdict now."),
)

ScoresRow = view_row(
    "scores",
    f"{TRIAL_ORDER}, score_name",
    f"{TRIAL_KEY} score_name score",
    TRIAL,
    score_name=(str, "Of the scorer or metric, and of a part of it behind a `/`."),
    score=(float | None, "As the other tool has it; null: it did not score the trial."),
)

EventsRow = view_row(
    "events",
    "run_id, record_no",
    "",
    run_id=(str, "Run it happened to."),
    record_no=(Positive, "Line number in results.jsonl."),
    at_ms=(
        EpochMillis | None,
        "When, in ms since 1970-01-01 UTC; null in a folder of the older shape.",
    ),
    event=(str, "What happened."),
    model_id=(str | None, "Model it was about; null: the whole run."),
    detail=(str | None, "What else is known, as JSON text."),
)

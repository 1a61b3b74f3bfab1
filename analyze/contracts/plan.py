"""Rows of the views that say what was asked: runs, models, cases, planned trials, events."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from pydantic import Field

from analyze.contracts.base import STARTED_AT, TRIAL_ORDER, GroupRow, ViewRow, like
from schemas.base import Count, EpochMillis, Positive, Usd
from schemas.run.alias import AliasOrigin
from schemas.run.plan import FingerprintParts


class RunsRow(ViewRow):
    """One run: what was asked, and which run came before."""

    view: ClassVar[str] = "runs"
    order: ClassVar[str] = "started_at_ms nulls first, run_id"

    run_id: str = like("run_id", "runs")
    suite_id: str = like("suite_id", "runs")
    suite_title: str = like("suite_title", "runs")
    run_profile_id: str | None = like("run_profile_id", "runs")
    run_group: str | None = like("run_group", "runs")
    labels: tuple[str, ...] = like("labels", "runs")
    started_at_ms: EpochMillis | None = like("started_at_ms", "runs")
    started_at: datetime | None = Field(description=STARTED_AT)
    benchlake_version: str | None = like("benchlake_version", "runs")
    n_planned: Count = like("n_planned", "runs")
    max_cost_usd: Usd | None = like("max_cost_usd", "runs")
    judge_hash: str | None = like("judge_hash", "runs")
    machine: str | None = like("machine", "runs")
    is_imported: bool = like("is_imported", "runs")
    is_narrowed: bool = like("is_narrowed", "runs")
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
    cluster: str | None = like("cluster", "plans")
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

    suite_id: str = like("suite_id")
    case_id: str = like("case_id")
    repetition: Positive = like("repetition")
    trial_no: Count = like("trial_no", "plans")
    prompt_id: str = like("prompt_id")
    prompt_name: str | None = like("prompt_name")
    case_hash: str | None = like("case_hash")
    run_fingerprint: str | None = like("run_fingerprint")
    fingerprint_parts: FingerprintParts | None = Field(
        description="What run_fingerprint is made of, each as the beginning of a hash: says where "
        "two trials differ; null in a folder of the older shape."
    )
    runner_type: str = Field(description="Runner that is to execute the trial.")
    validator_type: str | None = like("validator_type")
    is_scorable: bool = like("is_scorable", "plans")
    expected_tools: tuple[str, ...] = like("expected_tools")
    tags: tuple[str, ...] = like("tags")
    cluster: str | None = like("cluster", "plans")
    has_result: bool = Field(description="The trial ran, or was reused.")
    state: str = Field(description="`present` or `missing`.")
    record_no: Positive | None = Field(
        description="Line of results.jsonl that counts; null while the trial is missing."
    )
    failure_type: str | None = like("failure_type")
    passed: bool | None = Field(description="The verdict; null when there is none yet.")


class CaseAliasesRow(ViewRow):
    """An id of a case that stands for a newer one."""

    view: ClassVar[str] = "case_aliases"
    order: ClassVar[str] = "suite_id, old_case_id"

    suite_id: str = like("suite_id", "aliases")
    old_case_id: str = like("old_case_id", "aliases")
    case_id: str = Field(description="Newest id of the case, at the end of every chain.")
    joined_to: str = Field(description="Id it was joined to, as somebody said.")
    origin: AliasOrigin = like("origin", "aliases")
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

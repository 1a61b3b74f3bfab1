"""The plan: every trial a run will make, written before the first request."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from schemas.base import Count, Positive, Record, Sha256, Slug
from schemas.config.case import Cluster, RunnerType
from schemas.config.suite import Transport
from schemas.config.validators import ValidatorType

FINGERPRINT_VERSION = 1
"""Raised when what enters a fingerprint changes."""


PART_DIGITS = 16
"""Hex digits kept of each part: enough to say which of them differs."""


Part = Annotated[str, StringConstraints(pattern=r"^(?:[0-9a-f]{16}|[0-9a-f]{64})$")]
"""Early plans hold whole hashes; only the beginning is ever compared."""


class FingerprintParts(Record):
    """First 16 hex digits of the sha256 of each thing that can change a model's output.

    Null where it plays no part. The fingerprint itself is made of the whole hashes.
    """

    case: Part
    settings: Part
    endpoint: Part
    harness: Part
    tools: Part | None = None
    model_build: Part | None = None
    agent: Part | None = None
    image: Part | None = None


class PlannedTrial(Record):
    """One line of plan.jsonl: a trial is (model_id, case_id, repetition) inside a run.

    Fields that have their default are left out of the line.
    """

    record_type: Literal["trial"] = Field(default="trial", description="Always `trial`.")
    run_id: str = Field(description="Run the trial belongs to.")
    suite_id: Slug = Field(description="Suite the run was made from.")
    model_id: Slug = Field(description="Local name of the model.")
    case_id: Slug = Field(description="Case that is asked.")
    repetition: Positive = Field(description="From 1.")
    trial_no: Count = Field(description="Place in the plan, from 0.")
    runner_type: RunnerType = Field(default="llm_probe", description="Runner that executes it.")
    provider: Transport = Field(description="Transport the request goes through.")
    model: str = Field(description="The model string the server is asked for.")
    thinking_level: str | None = Field(default=None, description="Reasoning effort asked for.")
    prompt_id: str = Field(description="case_id, or the id in the prompt list.")
    prompt_name: str | None = Field(
        default=None, description="Title of the case, or name in the prompt list."
    )
    case_hash: Sha256 = Field(description="Of all that reaches the model or decides the verdict.")
    run_fingerprint: Sha256 = Field(description="sha256 over the parts.")
    fingerprint_version: Positive = Field(default=1, description="How the fingerprint was made.")
    fingerprint_parts: FingerprintParts = Field(
        description="Start of the hash of each thing that can change the output."
    )
    validator_type: ValidatorType | None = Field(default=None, description="Validator of the case.")
    is_scorable: bool = Field(description="Can get a verdict: a validator that judges, or checks.")
    expected_tools: tuple[str, ...] = Field(
        default=(), description="Of the validator and the case together."
    )
    tags: tuple[str, ...] = Field(default=(), description="Of the case.")
    cluster: Cluster | None = Field(
        default=None,
        description="Cases that are not independent of each other; null: the case stands alone.",
    )


def plan_line(trial: PlannedTrial) -> bytes:
    """Return a trial's line of plan.jsonl; fields that have their default are left out."""
    kept = trial.model_dump_json(exclude_defaults=True).encode()
    return b'{"record_type":"trial",' + kept[1:] + b"\n"

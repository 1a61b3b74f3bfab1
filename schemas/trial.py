"""The plan: every trial a run will make, written before the first request."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Count, Positive, Record, Sha256, Slug
from schemas.case import RunnerType
from schemas.suite import Transport
from schemas.validators import ValidatorType

FINGERPRINT_VERSION = 1
"""Raised when what enters a fingerprint changes."""


class FingerprintParts(Record):
    """sha256 of each thing that can change a model's output; null where it plays no part."""

    case: Sha256
    settings: Sha256
    endpoint: Sha256
    harness: Sha256
    tools: Sha256 | None = None
    model_build: Sha256 | None = None
    agent: Sha256 | None = None
    image: Sha256 | None = None


class PlannedTrial(Record):
    """One line of plan.jsonl: a trial is (model_id, case_id, repetition) inside a run."""

    record_type: Literal["trial"] = "trial"
    run_id: str
    suite_id: Slug
    model_id: Slug
    case_id: Slug
    repetition: Positive = Field(description="From 1.")
    trial_no: Count = Field(description="Place in the plan, from 0.")
    runner_type: RunnerType
    provider: Transport
    model: str = Field(description="The model string the server is asked for.")
    thinking_level: str | None
    prompt_id: str
    prompt_name: str | None
    case_hash: Sha256 = Field(description="Of all that reaches the model or decides the verdict.")
    run_fingerprint: Sha256 = Field(description="sha256 over the parts.")
    fingerprint_version: Positive = FINGERPRINT_VERSION
    fingerprint_parts: FingerprintParts
    validator_type: ValidatorType | None
    is_scorable: bool = Field(description="Can get a verdict: a validator that judges, or checks.")
    expected_tools: tuple[str, ...]
    tags: tuple[str, ...]

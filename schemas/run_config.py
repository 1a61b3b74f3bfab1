"""config.json: what a run was asked to do, written before its first request."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from schemas.base import SCHEMA_VERSION, EpochMillis, Positive, Record, Slug
from schemas.run_profile import ExecutionPolicy
from schemas.suite import Transport

SettingOrigin = Literal["default", "runner_defaults", "model_overrides", "suite_model", "case"]


class EffectiveSetting(Record):
    """A setting's value and the layer that set it."""

    value: JsonValue
    origin: SettingOrigin


class RunModel(Record):
    """One model of the run, as it was resolved."""

    model_id: Slug
    label: str | None
    provider: Transport
    model: str = Field(description="The model string the server is asked for.")
    thinking_level: str | None
    base_url: str
    api_key_env: str | None = Field(description="Name of the variable; never its value.")
    max_concurrency: Positive
    request_options: dict[str, JsonValue]
    resource_tag: str = Field(description="In the names of the resource snapshots.")
    settings: dict[str, EffectiveSetting]


class RunConfig(Record):
    """One run."""

    schema_version: Positive = SCHEMA_VERSION
    run_id: str
    started_at_ms: EpochMillis
    benchlake_version: str
    suite_id: Slug
    suite_title: str
    suite_path: str
    run_profile_id: Slug
    run_profile_path: str
    execution_policy: ExecutionPolicy
    models: tuple[RunModel, ...]
    case_settings: dict[str, dict[str, JsonValue]] = Field(
        description="By case_id: what the case's own `runner:` sets, above every other layer."
    )
    n_planned: int
    config_files: dict[str, str] = Field(description="sha256 of each file that was read.")
    allowed_hosts: tuple[str, ...] = Field(description="Hosts allowed to get a key of their own.")
    warnings: tuple[str, ...]

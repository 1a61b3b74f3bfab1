"""What a run was asked to do and every trial it will make, written before its first request.

The first is config.json, the second plan.jsonl.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints, ValidationError

from schemas.base import (
    SCHEMA_VERSION,
    Count,
    EpochMillis,
    Positive,
    Record,
    Sha256,
    Slug,
    Usd,
    read_stored,
)
from schemas.config.case import Cluster
from schemas.config.evaluation_profile import SecurityPolicy
from schemas.config.prices import Price
from schemas.config.project import Thresholds
from schemas.config.run_profile import AgentNetwork, ExecutionPolicy
from schemas.config.sandbox import SandboxLimits
from schemas.config.suite import ContextTokens, Routing, Threads
from schemas.errors import SchemaError
from schemas.run.result import misfit

SettingOrigin = Literal["default", "runner_defaults", "model_overrides", "suite_model", "case"]

FINGERPRINT_VERSION = 1
"""Raised when what enters a fingerprint changes."""

PART_DIGITS = 16
"""Hex digits kept of each part: enough to say which of them differs."""

Part = Annotated[str, StringConstraints(pattern=r"^(?:[0-9a-f]{16}|[0-9a-f]{64})$")]
"""Early plans hold whole hashes; only the beginning is ever compared."""


class EffectiveSetting(Record):
    """A setting's value and the layer that set it."""

    value: JsonValue
    origin: SettingOrigin


class EmbeddedServer(Record):
    """The server that a run starts for a model, and ends."""

    model_file: str | None = Field(
        default=None,
        description="The GGUF file, seen from the run's folder; null: the packaged model.",
    )
    context_tokens: ContextTokens
    threads: Threads
    engine: str | None = Field(
        default=None, description="What serves it, with its version; null: not installed."
    )


class RunModel(Record):
    """One model of the run, as it was resolved."""

    model_id: Slug
    label: str | None
    provider: str
    model: str = Field(description="The model string the server is asked for.")
    thinking_level: str | None
    base_url: str
    api_key_env: str | None = Field(description="Name of the variable; never its value.")
    key_required: bool = Field(default=False, description="No request without a key.")
    max_concurrency: Positive
    requests_per_minute: Positive | None = None
    warmup: Count = Field(default=0, description="Requests before the first trial, not counted.")
    exclusive: bool = Field(default=False, description="Never beside another such model.")
    model_build: Sha256 | None = Field(default=None, description="Of the weights, where known.")
    price: Price | None = Field(
        default=None, description="What a cost is computed from where the server names none."
    )
    executable: str | None = Field(default=None, description="The command of a CLI.")
    harness_version: str | None = Field(
        default=None, description="Of the CLI that asks, as it says itself."
    )
    routing: Routing | None = Field(
        default=None, description="Whether one upstream alone may serve; null: no router."
    )
    not_applied: tuple[str, ...] = Field(
        default=(), description="Settings of runner_defaults that the transport cannot send."
    )
    embedded: EmbeddedServer | None = Field(
        default=None, description="Of a model that the run serves itself; null: asked elsewhere."
    )
    primary_params: dict[str, JsonValue] = Field(
        default_factory=dict, description="What an agent sets its model to."
    )
    request_options: dict[str, JsonValue]
    resource_tag: str = Field(description="In the names of the resource snapshots.")
    settings: dict[str, EffectiveSetting]


class Narrowed(Record):
    """Flags that made the run smaller than its suite; empty: the whole suite."""

    cases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    max_trials: Positive | None = None
    shard: str | None = Field(default=None, description="`i/n`: the i-th of n parts of one plan.")


class RunSandbox(Record):
    """Where commands of the run's models are locked in; part of the fingerprint of such cases."""

    backend: str = Field(description="`none`: by --unsafe-no-sandbox.")
    image: str | None = None
    image_digest: str | None = None
    limits: SandboxLimits


class RunAgent(Record):
    """An agent of the run, by content."""

    fingerprint: Sha256 = Field(description="Of its configuration, its program and its workspace.")
    files: dict[str, Sha256] = Field(
        description="Every file that it begins with, by path; nothing else is inherited."
    )
    program: dict[str, Sha256] = Field(
        default_factory=dict, description="The same of the folder with its program."
    )
    version: str | None = Field(
        default=None, description="As it says itself where it runs; null: the version of all."
    )


class RunAgentPlace(Record):
    """Where and how agents run; part of the fingerprint of their cases."""

    executable: Literal["container", "local"]
    docker_cli: str | None = Field(description="Null: no container.")
    image: str | None
    image_digest: str | None
    network: AgentNetwork
    timeout_seconds: Positive
    turn_timeout_seconds: Positive | None
    limits: SandboxLimits
    agents: dict[Slug, RunAgent] = Field(description="By agent_id.")
    assignments: dict[Slug, Slug] = Field(description="case_id to agent_id.")


class RunOpenClaw(RunAgentPlace):
    """How the openclaw cases of a run are run."""

    version: str = Field(description="Of openclaw, as it says itself where it runs.")

    def version_of(self, agent_id: str) -> str | None:  # noqa: ARG002
        """Return the version of an agent, as it says itself."""
        return self.version


class RunCommands(RunAgentPlace):
    """How the command cases of a run are run."""

    programs: tuple[str, ...] = Field(description="Of this machine, that are seen inside.")

    def version_of(self, agent_id: str) -> str | None:
        """Return the version of an agent, as it says itself; None: it does not."""
        return self.agents[agent_id].version


class RunEvaluation(Record):
    """The evaluation profile of a run, by which its trials are evaluated."""

    evaluation_profile_id: Slug
    evaluation_profile_path: str
    sha256: Sha256
    security_policy: SecurityPolicy
    limits: SandboxLimits = Field(
        default_factory=SandboxLimits, description="Of one look of a hook."
    )


KeepWorkspaces = Literal["all", "failed", "none"]

MAX_WORKSPACES_MB = 10_000
"""Of all workspaces that a run keeps, unless told otherwise."""


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
    case_settings: dict[str, dict[str, EffectiveSetting]] = Field(
        description="By case_id: what the case's own `runner:` sets, above every other layer."
    )
    n_planned: int
    config_files: dict[str, str] = Field(description="sha256 of each file that was read.")
    allowed_hosts: tuple[str, ...] = Field(description="Hosts allowed to get a key of their own.")
    warnings: tuple[str, ...]
    narrowed: Narrowed = Field(default_factory=Narrowed)
    skip_unevaluable: bool = Field(
        default=False, description="Without tools, runners and checks that were not there."
    )
    run_group: str | None = Field(
        default=None, description="The same for all shards of one plan; null without shards."
    )
    labels: tuple[str, ...] = ()
    max_cost_usd: Usd | None = Field(
        default=None, description="What the run may cost; a resumed one too, unless told otherwise."
    )
    reuse: bool = Field(default=False, description="Answers of earlier runs are taken over.")
    judge_hash: Sha256 | None = Field(
        default=None,
        description="Of judges, their prompt and aggregation; null: no judge decides a verdict.",
    )
    sandbox: RunSandbox | None = Field(
        default=None, description="Null: no case has tools that need one."
    )
    openclaw: RunOpenClaw | None = Field(
        default=None, description="Null: no case runs with openclaw."
    )
    agent: RunCommands | None = Field(
        default=None, description="Null: no case runs with an agent by configuration."
    )
    evaluation: RunEvaluation | None = Field(
        default=None, description="Null: no evaluation profile was named."
    )
    keep_workspaces: KeepWorkspaces = Field(
        default="all", description="Whose files stay: `failed`, those that did not pass."
    )
    workspaces_mb: Positive = Field(
        default=MAX_WORKSPACES_MB, description="Of all workspaces that the run keeps."
    )
    thresholds: Thresholds = Field(
        default_factory=Thresholds, description="In force: the packaged ones or benchlake.yaml's."
    )


def output_limits(config: RunConfig, model_id: str) -> tuple[int, ...]:
    """Return every `max_tokens` in force for some case of a model, in order; empty: none is set."""
    settings = [
        case["max_tokens"] for case in config.case_settings.values() if "max_tokens" in case
    ]
    settings += [
        model.settings["max_tokens"]
        for model in config.models
        if model.model_id == model_id and "max_tokens" in model.settings
    ]
    return tuple(sorted({one.value for one in settings if isinstance(one.value, int)}))


def load_run_config(path: Path) -> RunConfig:
    """Return a run's config.json; as `read_stored`."""
    return read_stored(RunConfig, path)


def config_of(run_dir: Path) -> RunConfig:
    """Return the config of the run that a folder is named for.

    Raises:
        SchemaError: it is that of another run: this is a copy of its folder, which has a lock of
            its own, and both would write the same run. The others are those of `read_stored`.
    """
    path = run_dir / "config.json"
    config = load_run_config(path)
    if config.run_id != run_dir.name:
        message = f"{path}: is the config of another run, `{config.run_id}`"
        raise SchemaError(message)
    return config


def read_config(run_dir: Path) -> RunConfig:
    """Return what a run was asked to do.

    Raises:
        SchemaError: config.json is missing or does not fit its declaration.
    """
    path = run_dir / "config.json"
    try:
        return load_run_config(path)
    except OSError as exc:
        message = f"{path}: cannot be read ({exc.strerror})"
        raise SchemaError(message) from exc
    except ValidationError as exc:
        message = f"{path}: {misfit(exc)}"
        raise SchemaError(message) from exc


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
    runner_type: str = Field(default="llm_probe", description="Runner that executes it.")
    provider: str = Field(description="Transport the request goes through.")
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
    validator_type: str | None = Field(default=None, description="Validator of the case.")
    is_scorable: bool = Field(
        description="Can get a verdict: a validator that judges, checks, or a judge."
    )
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

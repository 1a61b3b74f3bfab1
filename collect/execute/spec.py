"""From what somebody asks for to a run that can be made: `RunRequest` in, `RunSpec` out.

A run that goes on has the same `RunSpec`, made of its folder. config.json of a new run is made
here, from the inputs that the run is made of.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path

from pydantic import JsonValue

from collect.config import LoadedCase, ResolvedModel, RunInputs, load_inputs, runnable
from collect.config.endpoints import refuse_unusable_keys
from collect.config.evaluation import LoadedEvaluation
from collect.config.models import refuse_too_few_files
from collect.config.resolved import SAME_IN_CONFIG
from collect.console.interrupts import Interrupts
from collect.execute.agents import RunAgents, agents_of, agents_ready
from collect.execute.budget import Budget, parse_assumed, refuse_unpriced, with_prices
from collect.execute.evaluation import evaluation_of, hooks_ready, judge_hash_of, judging_of
from collect.execute.tools import RunTools, locked_in, tools_of
from collect.limits import Share
from collect.plan.fingerprint import digest
from collect.plan.narrow import narrow
from collect.plan.plan import Hashes, PlanSize, plan_fingerprints, planned_sizes
from schemas.config.prices import Price
from schemas.config.project import Thresholds
from schemas.config.run_profile import ExecutionPolicy
from schemas.errors import RunInLake
from schemas.lake import holds_run, lake_of
from schemas.redact import redact, redact_json
from schemas.run.config import (
    MAX_WORKSPACES_MB,
    EffectiveSetting,
    KeepWorkspaces,
    Narrowed,
    RunConfig,
    RunEvaluation,
    RunModel,
)
from schemas.run.dispatch import ExecutorName
from schemas.run.inventory import resource_tags
from schemas.run.layout import refuse_name
from schemas.run.trace import now_ms


@dataclass(frozen=True)
class Part:
    """What a process that makes one shard of a run is given by the one that started it."""

    share: Share
    """Of every limit."""
    begin: Callable[[Interrupts, Budget], None]
    """Is given what stops the run and what it may spend, before the first request."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What somebody asks for: the words of the command line, not yet looked up."""

    runs_dir: Path
    suite: str = ""
    """By id or path, as the run profile."""
    run_profile: str = ""
    resume: str | None = None
    """A run to complete, by its id or `latest`; its suite, profile and choices are its own."""
    narrowed: Narrowed = field(default_factory=Narrowed)
    skip_unevaluable: bool = False
    evaluation_profile: str | None = None
    """By id or path; None: none, so that no hook runs."""
    keep_workspaces: KeepWorkspaces = "all"
    """Whose files stay once the checks have run."""
    workspaces_mb: int = MAX_WORKSPACES_MB
    """Of all files that stay."""
    unsafe_no_sandbox: bool = False
    """Commands of a model run on this machine without anything around them."""
    run_id: str | None = None
    """The folder's name; None for the time in UTC."""
    labels: tuple[str, ...] = ()
    max_cost_usd: float | None = None
    assume_price: str | None = None
    """US dollars per million tokens, `IN/OUT`, of models without a price."""
    reuse: bool = False
    """Take answers of earlier runs where nothing that matters has changed (D-F2)."""
    allowed_hosts: tuple[str, ...] = ()
    """That may get a key of their own, beside those of benchlake.yaml."""
    as_json: bool = False
    with_page: bool = False
    """Make the report of it when it has ended."""
    lake: str | None = None
    """URL of a shared lake that it is pushed to when it has ended, however it did."""
    executor: ExecutorName | None = None
    """Where the processes of its shards run; None: this process makes all of it."""
    n_shards: int | None = None
    """Of a run in several; None: as many as the executor has machines."""
    address: str | None = None
    """Of the executor's cluster."""
    again: str | None = None
    """The command that goes on after a run that is not complete; None: the one that resumes it."""

    def price_on(self, day: date) -> Price | None:
        """Return the price of models that have none; None: they have none.

        Raises:
            ConfigError: what was asked for is not two numbers.
        """
        return None if self.assume_price is None else parse_assumed(self.assume_price, day)


@dataclass(frozen=True, slots=True)
class RunSpec:
    """A run that nothing stands in the way of: its models, cases and rules."""

    request: RunRequest
    suite_id: str
    run_profile_id: str
    models: tuple[ResolvedModel, ...]
    cases: Mapping[str, LoadedCase]
    policy: ExecutionPolicy
    sizes: Mapping[str, PlanSize]
    """Of each model's part of the plan."""
    thresholds: Thresholds
    max_cost_usd: float | None
    reuse: bool
    """Answers of earlier runs are taken over before anything is asked."""
    warnings: tuple[str, ...] = ()
    tools: RunTools = field(default_factory=RunTools)
    agents: RunAgents = field(default_factory=RunAgents)
    evaluation: RunEvaluation | None = None
    """By which its trials are evaluated."""
    judging: LoadedEvaluation | None = None
    """Whose judges are asked about its trials; None: nobody is."""
    keep_workspaces: KeepWorkspaces = "all"
    workspaces_mb: int = MAX_WORKSPACES_MB
    run_group: str | None = None
    """Of a shard whose group is known; None: it is worked out."""
    inputs: RunInputs | None = None
    """What a new run is made of; None: it goes on, with the plan in its folder."""

    @property
    def n_planned(self) -> int:
        """Trials of the plan."""
        return sum(size.n_planned for size in self.sizes.values())

    @property
    def has_embedded(self) -> bool:
        """Return whether the run serves a model itself."""
        return any(model.embedded is not None for model in self.models)

    @property
    def asked_models(self) -> tuple[ResolvedModel, ...]:
        """Return every model that is asked, judges included."""
        judges = () if self.judging is None else self.judging.judges
        return (*self.models, *(judge.model for judge in judges))


def inputs_of(request: RunRequest, working_dir: Path) -> RunInputs:
    """Return what a request for a new run names, loaded, narrowed and known to be runnable.

    Raises:
        ConfigError: all problems of all files involved, or of the flags.
    """
    inputs = load_inputs(
        request.suite,
        request.run_profile,
        working_dir=working_dir,
        allowed_hosts=request.allowed_hosts,
        evaluation_ref=request.evaluation_profile,
    )
    skip, is_unsafe = request.skip_unevaluable, request.unsafe_no_sandbox
    inputs = runnable(narrow(inputs, request.narrowed), skip_unevaluable=skip)
    inputs = locked_in(inputs, is_unsafe=is_unsafe, skip_unevaluable=skip)
    inputs = agents_ready(inputs, skip_unevaluable=skip)
    return hooks_ready(inputs, is_unsafe=is_unsafe, skip_unevaluable=skip)


def new_spec(inputs: RunInputs, request: RunRequest, note: Callable[[str], None]) -> RunSpec:
    """Return a new run, once nothing stands in its way; nothing is written or asked.

    Args:
        inputs: what it is made of.
        request: what somebody asked for beside them.
        note: says what people should know.

    Raises:
        ConfigError: the run id cannot be a folder's name, a key cannot be sent, a model not served,
            or a limited cost not be known.
        RunInLake: the folder of such a run is gone, and its rows are in the lake.
    """
    runs_dir, run_id = request.runs_dir, request.run_id
    if run_id is not None:
        refuse_name(run_id, runs_dir)
        if holds_run(lake_of(runs_dir), run_id) and not (runs_dir / run_id).exists():
            raise RunInLake(runs_dir, run_id)
    refuse_unusable_keys(inputs.models)
    today = datetime.now(tz=UTC).date()
    assumed = request.price_on(today)
    priced = with_prices(inputs, today, assumed)
    spec = RunSpec(
        request=request,
        suite_id=inputs.suite.suite_id,
        run_profile_id=inputs.profile.run_profile_id,
        models=priced.models,
        cases={case.case_id: case for case in inputs.cases},
        policy=inputs.profile.execution_policy,
        sizes=planned_sizes(inputs),
        thresholds=inputs.project.thresholds,
        max_cost_usd=request.max_cost_usd,
        reuse=request.reuse,
        warnings=inputs.warnings,
        tools=tools_of(
            inputs.cases,
            inputs.project,
            inputs.sandbox,
            (inputs.suite.suite_id, inputs.suite.title),
        ),
        agents=agents_of(inputs),
        evaluation=evaluation_of(inputs.evaluation, inputs.profile.sandbox.limits),
        judging=judging_of(inputs.evaluation, inputs.project.prices, assumed),
        keep_workspaces=request.keep_workspaces,
        workspaces_mb=request.workspaces_mb,
        inputs=priced,
    )
    if spec.has_embedded:
        from collect.local.servers import refuse_unservable  # noqa: PLC0415 - few runs serve one

        refuse_unservable(inputs, note)
    refuse_too_few_files(
        spec.models, spec.policy.max_concurrency, spec.n_planned, inputs.profile_path
    )
    if spec.max_cost_usd is not None:
        refuse_unpriced(spec.asked_models)
    return spec


def run_config_of(inputs: RunInputs, spec: RunSpec, run_id: str) -> RunConfig:
    """Return what the run was asked to do, every setting with the layer that set it.

    The inputs have model files as they are seen from the run's folder.
    """
    tags = tags_of(inputs.models)
    return RunConfig(
        run_id=run_id,
        started_at_ms=now_ms(),
        benchlake_version=version("benchlake"),
        suite_id=inputs.suite.suite_id,
        suite_title=inputs.suite.title,
        suite_path=os.path.relpath(inputs.suite_path),
        run_profile_id=inputs.profile.run_profile_id,
        run_profile_path=os.path.relpath(inputs.profile_path),
        execution_policy=inputs.profile.execution_policy,
        models=tuple(_model(model, tags) for model in inputs.models),
        case_settings={
            case.case_id: {
                name: EffectiveSetting(value=value, origin="case")
                for name, value in case.settings.items()
            }
            for case in inputs.cases
            if case.settings
        },
        n_planned=spec.n_planned,
        config_files={os.path.relpath(path): found for path, found in inputs.config_files.items()},
        allowed_hosts=inputs.allowed_hosts,
        warnings=inputs.warnings,
        narrowed=inputs.narrowed,
        skip_unevaluable=inputs.skip_unevaluable,
        sandbox=inputs.sandbox,
        openclaw=inputs.openclaw,
        agent=inputs.agent,
        evaluation=spec.evaluation,
        judge_hash=judge_hash_of(inputs.evaluation),
        keep_workspaces=spec.keep_workspaces,
        workspaces_mb=spec.workspaces_mb,
        run_group=spec.run_group or group_of(inputs),
        labels=tuple(map(redact, spec.request.labels)),
        reuse=spec.reuse,
        max_cost_usd=spec.max_cost_usd,
        thresholds=inputs.project.thresholds,
    )


def _model(model: ResolvedModel, tags: Mapping[str, str]) -> RunModel:
    return RunModel(
        **{name: getattr(model, name) for name in SAME_IN_CONFIG},
        request_options={name: redact_json(value) for name, value in model.request_options.items()},
        settings=dict(model.settings),
        resource_tag=tags[model.model_id],
    )


def tags_of(models: Sequence[ResolvedModel]) -> dict[str, str]:
    """Return the tag of each model_id's resource snapshots, unique in the run."""
    keys = {model.model_id: (model.provider, model.model, model.thinking_level) for model in models}
    tags = resource_tags(keys.values())
    shared = Counter(keys.values())
    return {
        model_id: tags[key] if shared[key] == 1 else f"{tags[key]}-{model_id}"
        for model_id, key in keys.items()
    }


def group_of(inputs: RunInputs, hashes: Hashes | None = None) -> str | None:
    """Return what all shards of one plan share: its hash and the number of parts."""
    shard = inputs.narrowed.shard
    if shard is None:
        return None
    whole = replace(inputs, narrowed=inputs.narrowed.model_copy(update={"shard": None}))
    prints: list[JsonValue] = [*plan_fingerprints(whole, hashes)]
    return f"{digest(prints)[:16]}-{shard.partition('/')[2]}"

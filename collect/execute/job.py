"""What a run is executed from: the same for a new run and for one that goes on.

config.json of a run is made here, from the inputs that the run was made of.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from pydantic import JsonValue

from collect.config import LoadedCase, ResolvedModel, RunInputs
from collect.config.embedded import read_beside
from collect.config.resolved import SAME_IN_CONFIG
from collect.config.unsupported import reserved
from collect.plan.fingerprint import digest
from collect.plan.plan import PlanSize, plan_trials, planned_sizes, sizes_of, trial_of
from collect.run_folder.stored_inputs import CASES_FILE, models_of, read_cases, verify_stored
from collect.runners.base import now_ms
from schemas.config.prices import Price
from schemas.config.project import Thresholds
from schemas.config.run_profile import ExecutionPolicy
from schemas.errors import NotResumable
from schemas.redact import redact, redact_json
from schemas.run.config import EffectiveSetting, RunConfig, RunModel, load_run_config
from schemas.run.inventory import resource_tags


@dataclass(frozen=True, slots=True)
class Job:
    """One run's models, cases and rules; its trials are in plan.jsonl."""

    run_id: str
    models: tuple[ResolvedModel, ...]
    cases: Mapping[str, LoadedCase]
    policy: ExecutionPolicy
    sizes: Mapping[str, PlanSize]
    """Of each model's part of the plan."""
    thresholds: Thresholds
    warnings: tuple[str, ...] = ()
    max_cost_usd: float | None = None
    reuse: bool = False
    """Answers of earlier runs are taken over before anything is asked."""
    again: str = ""
    """The command that starts a new run and takes over what is the same; of a stored job."""

    @property
    def n_planned(self) -> int:
        """Trials of the plan."""
        return sum(size.n_planned for size in self.sizes.values())


def job_of(
    inputs: RunInputs, run_id: str, max_cost_usd: float | None, *, reuse: bool = False
) -> Job:
    """Return a new run's job."""
    return Job(
        run_id=run_id,
        models=inputs.models,
        cases={case.case_id: case for case in inputs.cases},
        policy=inputs.profile.execution_policy,
        sizes=planned_sizes(inputs),
        thresholds=inputs.project.thresholds,
        warnings=inputs.warnings,
        max_cost_usd=max_cost_usd,
        reuse=reuse,
    )


def stored_job(run_dir: Path, max_cost_usd: float | None, assumed: Price | None = None) -> Job:
    """Return the job of a run as its folder has it, to be gone on with.

    A cost limit counts the earlier part of the run in; None: as before.

    Raises:
        NotResumable: the folder does not hold what the run was made from.
    """
    try:
        return _stored_job(run_dir, max_cost_usd, assumed)
    except (OSError, ValueError) as exc:  # pydantic's are ValueErrors
        why = f"config.json or plan.jsonl is missing or damaged ({type(exc).__name__})"
        raise NotResumable(
            run_dir, f"{why}; a new run with --reuse takes over its answers"
        ) from exc


def _stored_job(run_dir: Path, max_cost_usd: float | None, assumed: Price | None) -> Job:
    config = load_run_config(run_dir / "config.json")
    cases = read_cases(run_dir / CASES_FILE)
    for case in cases.values():
        if case.checks and case.folder is not None and not case.folder.is_dir():
            why = f"the folder of case `{case.case_id}` is not at {case.folder}"
            raise NotResumable(run_dir, f"{why}; move the run back, or start one with --reuse")
    models = tuple(
        model if model.price else replace(model, price=assumed)
        for model in read_beside(models_of(config), run_dir)
    )
    for model in config.models:
        for option, reason in reserved(model.request_options).items():
            why = f"request option `{option}` of model `{model.model_id}` {reason}"
            raise NotResumable(run_dir, f"{why}; take it out and start a new run")
    suite, profile = config.suite_path, config.run_profile_path
    again = shlex.join(["collect", "run", "--suite", suite, "--run-profile", profile, "--reuse"])
    verify_stored(run_dir, models, cases, again)
    with (run_dir / "plan.jsonl").open("rb") as plan:
        sizes = sizes_of(map(trial_of, plan))
    return Job(
        run_id=config.run_id,
        models=models,
        cases=cases,
        policy=config.execution_policy,
        sizes=sizes,
        thresholds=config.thresholds,
        max_cost_usd=config.max_cost_usd if max_cost_usd is None else max_cost_usd,
        reuse=config.reuse,
        again=again,
    )


def run_config_of(inputs: RunInputs, job: Job, labels: Sequence[str]) -> RunConfig:
    """Return what the run was asked to do, every setting with the layer that set it.

    The inputs have model files as they are seen from the run's folder.
    """
    tags = tags_of(job.models)
    return RunConfig(
        run_id=job.run_id,
        started_at_ms=now_ms(),
        benchlake_version=version("benchlake"),
        suite_id=inputs.suite.suite_id,
        suite_title=inputs.suite.title,
        suite_path=_relative(str(inputs.suite_path)),
        run_profile_id=inputs.profile.run_profile_id,
        run_profile_path=_relative(str(inputs.profile_path)),
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
        n_planned=job.n_planned,
        config_files={_relative(path): found for path, found in inputs.config_files.items()},
        allowed_hosts=inputs.allowed_hosts,
        warnings=inputs.warnings,
        narrowed=inputs.narrowed,
        skip_unevaluable=inputs.skip_unevaluable,
        run_group=_group(inputs),
        labels=tuple(map(redact, labels)),
        reuse=job.reuse,
        max_cost_usd=job.max_cost_usd,
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


def _group(inputs: RunInputs) -> str | None:
    """Return what all shards of one plan share: its hash and the number of parts."""
    shard = inputs.narrowed.shard
    if shard is None:
        return None
    whole = replace(inputs, narrowed=inputs.narrowed.model_copy(update={"shard": None}))
    prints: list[JsonValue] = [trial.run_fingerprint for trial in plan_trials(whole, "whole")]
    return f"{digest(prints)[:16]}-{shard.partition('/')[2]}"


def _relative(path: str) -> str:
    """Return a path as seen from the working directory, which says less about the machine."""
    return os.path.relpath(path)

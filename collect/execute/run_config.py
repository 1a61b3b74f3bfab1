"""config.json of a run, from the inputs it was made of."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version

from pydantic import JsonValue

from collect.config import ResolvedModel, RunInputs
from collect.config.resolved import SAME_IN_CONFIG
from collect.plan.fingerprint import digest
from collect.plan.plan import plan_trials
from collect.runners.base import now_ms
from schemas.redact import redact, redact_json
from schemas.run.config import EffectiveSetting, RunConfig, RunModel
from schemas.run.inventory import resource_tags


def run_config_of(
    inputs: RunInputs,
    run_id: str,
    tags: Mapping[str, str],
    n_planned: int,
    labels: Sequence[str],
    *,
    reuse: bool = False,
    max_cost_usd: float | None = None,
) -> RunConfig:
    """Return what the run was asked to do, every setting with the layer that set it."""
    return RunConfig(
        run_id=run_id,
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
        n_planned=n_planned,
        config_files={_relative(path): found for path, found in inputs.config_files.items()},
        allowed_hosts=inputs.allowed_hosts,
        warnings=inputs.warnings,
        narrowed=inputs.narrowed,
        skip_unevaluable=inputs.skip_unevaluable,
        run_group=_group(inputs),
        labels=tuple(map(redact, labels)),
        reuse=reuse,
        max_cost_usd=max_cost_usd,
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

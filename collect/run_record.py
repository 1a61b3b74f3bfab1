"""config.json of a run, from the inputs it was made of."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import version

from collect.config import ResolvedModel, RunInputs
from collect.runners.base import now_ms
from schemas.inventory import GroupKey
from schemas.run_config import RunConfig, RunModel


def run_config_of(
    inputs: RunInputs, run_id: str, tags: Mapping[GroupKey, str], n_planned: int
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
        case_settings={case.case_id: dict(case.settings) for case in inputs.cases if case.settings},
        n_planned=n_planned,
        config_files={_relative(path): found for path, found in inputs.config_files.items()},
        allowed_hosts=inputs.allowed_hosts,
        warnings=inputs.warnings,
    )


def _model(model: ResolvedModel, tags: Mapping[GroupKey, str]) -> RunModel:
    return RunModel(
        model_id=model.model_id,
        label=model.label,
        provider=model.provider,
        model=model.model,
        thinking_level=model.thinking_level,
        base_url=model.base_url,
        api_key_env=model.api_key_env,
        max_concurrency=model.max_concurrency,
        request_options=dict(model.request_options),
        resource_tag=tags[model.provider, model.model, model.thinking_level],
        settings=dict(model.settings),
    )


def _relative(path: str) -> str:
    """Return a path as seen from the working directory, which says less about the machine."""
    return os.path.relpath(path)

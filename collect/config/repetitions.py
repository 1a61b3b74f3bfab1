"""Repetitions that repeat one answer are no draws of their own: said before a run pays for them."""

from __future__ import annotations

from collections.abc import Iterable

from collect.config.resolved import ResolvedModel
from schemas.config.run_profile import RunProfile
from schemas.errors import counted, shown
from schemas.io.yaml import Source

KEY = ("execution_policy", "run_repetitions")
ADVICE = (
    "set `temperature` above 0 (with a `seed`, `seed_per_repetition: true` too), "
    "or `run_repetitions: 1`"
)


def greedy_profile(profile: RunProfile, source: Source) -> list[str]:
    """Return a warning where a run profile repeats what it asks at temperature 0."""
    names = ["runner_defaults"] if profile.runner_defaults.temperature == 0 else []
    names += [
        f"model_overrides.{model_id}"
        for model_id, override in profile.model_overrides.items()
        if override.temperature == 0
    ]
    return _warning(profile, source, [f"`{name}`" for name in names])


def greedy_models(
    models: Iterable[ResolvedModel], profile: RunProfile, source: Source
) -> list[str]:
    """Return a warning where models are asked repeatedly at temperature 0, whoever set it."""
    names = []
    for model in models:
        temperature = model.settings.get("temperature")
        if temperature is not None and temperature.value == 0:
            names.append(f"model `{model.model_id}`")
    return _warning(profile, source, names)


def _warning(profile: RunProfile, source: Source, names: list[str]) -> list[str]:
    """No seed changes an answer at temperature 0, so none is asked for."""
    repetitions = profile.execution_policy.run_repetitions
    if not names or repetitions == 1:
        return []
    where = f"{shown(source.path)}:{source.line_of(KEY)}"
    return [
        f"{where}: {counted(repetitions, 'repetition')} at temperature 0 ({', '.join(names)}) "
        f"repeat one answer and are no independent draws; {ADVICE}"
    ]

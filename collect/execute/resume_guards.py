"""Whether a run that goes on would still ask the weights and CLIs that it was planned with.

Which hosts a run that goes on may send keys to: a run folder may be somebody else's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from collect.config import ResolvedModel
from collect.config.embedded import engine
from collect.config.endpoints import TRANSPORT, key_problem
from collect.inventory.model_builds import look_up
from schemas.config.project import load_project_file
from schemas.errors import ConfigError, NotResumable, Problem, printable

DIGITS = 12
"""Of a digest that people compare; `ollama list` shows as many."""


def refuse_foreign_executables(run_dir: Path, models: Iterable[ResolvedModel], again: str) -> None:
    """A run folder may be somebody else's: what it names by path is not run.

    Args:
        run_dir: the run's folder.
        models: as the folder has them.
        again: the command that starts a new run and takes over what is the same.

    Raises:
        NotResumable: a model's command is a path.
    """
    for model in models:
        command = model.executable
        if command is not None and ("/" in command or "\\" in command):
            why = (
                f"model `{model.model_id}` runs `{printable(command)}`, and a run folder, which "
                "may be somebody else's, cannot say which file is run; name it by its command on "
                f"PATH, or `{again}` starts a new run from your own suite"
            )
            raise NotResumable(run_dir, why)


def refuse_other_builds(
    run_dir: Path, models: Iterable[ResolvedModel], again: str
) -> dict[str, str]:
    """Ask servers and CLIs again, and compare with what the run was planned with.

    What was known and cannot be found out now is no reason to stop: a server that is not up yet
    would end every run that is resumed too early, and its trials fail by themselves.

    Args:
        run_dir: the run's folder.
        models: as the folder has them.
        again: the command that starts a new run and takes over what is the same.

    Returns:
        By model_id, what cannot be told to be the same, in words.

    Raises:
        NotResumable: a model's weights or CLI are others by now.
    """
    stored = [model for model in models if _known(model) is not None]
    unknown = [_forgotten(model) for model in stored]
    if not stored:
        return {}
    builds = asyncio.run(look_up(unknown))
    changed, unsure = [], {}
    for was, model in zip(stored, unknown, strict=True):
        old, new = _known(was), _known(builds.of(model))
        what = f"{'the weights' if was.executable is None else f'`{was.executable}`'} of model"
        if new is None:
            open_question = f"{what} `{was.model_id}` cannot be checked (planned with {old})"
            missing = builds.warning(model)
            unsure[was.model_id] = f"{open_question}; {missing}" if missing else open_question
        elif new != old:
            changed.append(f"{what} `{was.model_id}` ({old}, now {new})")
    if changed:
        why = (
            f"{', '.join(changed)} changed since it was planned; "
            f"`{again}` starts a new run and takes over what is still the same"
        )
        raise NotResumable(run_dir, why)
    return unsure


def _forgotten(model: ResolvedModel) -> ResolvedModel:
    """Return a stored model without what is to be found out again."""
    embedded = model.embedded
    if embedded is not None:
        embedded = embedded.model_copy(update={"engine": engine()})
    return replace(model, model_build=None, harness_version=None, embedded=embedded)


def _known(model: ResolvedModel) -> str | None:
    """Return what can be asked for again, as people compare it; None when there is nothing."""
    if model.executable is not None:
        return model.harness_version
    if model.embedded is not None:
        engine = model.embedded.engine
        return model.model_build and f"{model.model_build[:DIGITS]} served by {engine}"
    is_asked = model.provider == "ollama_openai" and model.model_build is not None
    return (model.model_build or "")[:DIGITS] if is_asked else None


def refuse_foreign_hosts(models: Iterable[ResolvedModel], allowed: Iterable[str]) -> None:
    """Apply D-H4 to a stored run, by what is allowed here and now.

    Args:
        models: as the run's folder has them.
        allowed: hosts named on the command line; those of benchlake.yaml are added.

    Raises:
        ConfigError: a key would go to a host that it is not for.
    """
    project = load_project_file(Path.cwd())
    hosts = frozenset(host.lower() for host in (*allowed, *project.allowed_hosts))
    problems = []
    for model in models:
        named = model.api_key_env
        own = None if named == TRANSPORT[model.provider].api_key_env else named
        if what := key_problem(TRANSPORT[model.provider], model.base_url, own, hosts):
            problems.append(Problem(None, f"model `{model.model_id}`: {what}"))
    if problems:
        raise ConfigError(problems)

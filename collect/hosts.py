"""Which hosts a run that goes on may send keys to: a run folder may be somebody else's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from collect.config import ResolvedModel
from collect.config.endpoints import TRANSPORT, key_problem
from schemas.config.project import load_project_file
from schemas.errors import ConfigError, Problem


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

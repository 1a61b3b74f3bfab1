"""What the checks look at: suites with their models and cases, the folders, the addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from collect.config import LoadedCase, ResolvedModel
from collect.config.cases import CaseFile, find_cases
from collect.config.models import resolve_models
from collect.config.project_files import find_project, resolve
from collect.config.select import suite_cases
from collect.config.unsupported import unsendable
from collect.config.validate import parsed
from collect.doctor.probe import Place, Visit
from schemas.config.project import load_project_file
from schemas.config.run_profile import OpenClawRunProfile, RunProfile
from schemas.config.suite import Suite
from schemas.errors import ConfigError, Problem
from schemas.run.model_names import ModelNames

ANY_PROFILE = RunProfile(
    schema_version=1,
    run_profile_id="any",
    title="any",
    openclaw=OpenClawRunProfile(agent_id="any", image="any", timeout_seconds=1),
)
"""A suite is looked at without a run profile: where models are asked is the suite's business."""


@dataclass(frozen=True)
class LookedAt:
    """One suite: what a run of it would ask, or why it cannot be loaded."""

    name: str
    path: Path
    models: tuple[ResolvedModel, ...] = ()
    cases: tuple[LoadedCase, ...] = ()
    refused: tuple[Problem, ...] = ()
    """What keeps `collect run` from running it although it loads."""
    problems: tuple[Problem, ...] = ()
    """What keeps it from loading."""


@dataclass(frozen=True)
class Scene:
    """Everything the checks share."""

    suites: tuple[LookedAt, ...]
    has_project: bool
    runs_dir: Path
    visits: Mapping[Place, asyncio.Task[Visit]]
    is_for_people: bool = False
    """Models are called by their labels; a program gets their ids."""

    def models(self) -> list[tuple[str, ResolvedModel]]:
        """Return every model with what to call it; with its suite where there are several."""
        several = len([suite for suite in self.suites if suite.models]) > 1
        found = []
        for suite in self.suites:
            names = ModelNames.of_models(suite.models if self.is_for_people else ())
            within = f"{suite.name}/" if several else ""
            found += [(f"{within}{names.of(model.model_id)}", model) for model in suite.models]
        return found

    def embedded(self) -> list[tuple[str, ResolvedModel]]:
        """Return the models that a run serves itself, called as in `models`."""
        return [(name, model) for name, model in self.models() if model.embedded is not None]

    def users(self, uses: Callable[[ResolvedModel], bool]) -> list[str]:
        """Return what the models are called for which something holds."""
        return [name for name, model in self.models() if uses(model)]

    async def visit_of(self, place: Place) -> Visit:
        """Return what an address said; asked once, however many want to know."""
        return await asyncio.shield(self.visits[place])


def suites_to_look_at(
    reference: str | None, working_dir: Path, allowed_hosts: Iterable[str]
) -> tuple[LookedAt, ...]:
    """Return the suite that was named, else every suite of the project around a folder.

    Raises:
        ConfigError: the named suite, or benchlake.yaml, does not load.
    """
    own = load_project_file(working_dir).allowed_hosts
    hosts = frozenset(host.lower() for host in (*allowed_hosts, *own))
    cases_of = cache(find_cases)
    if reference is not None:
        looked = _look(resolve(reference, "suite", working_dir), hosts, cases_of)
        if looked.problems:
            raise ConfigError(looked.problems)
        return (looked,)
    project = find_project(working_dir)
    paths = sorted((project / "configs" / "suites").glob("*.yaml")) if project else []
    return tuple(_look(path, hosts, cases_of) for path in paths)


def _look(
    path: Path, hosts: frozenset[str], cases_of: Callable[[Path], Sequence[CaseFile]]
) -> LookedAt:
    try:
        source, suite = parsed(Suite, "suite_id", path)
    except ConfigError as exc:
        return LookedAt(path.stem, path, problems=exc.problems)
    models, problems, _ = resolve_models(suite, ANY_PROFILE, source, hosts)
    taken = suite_cases(suite, source, cases_of)
    refused = [problem for case in taken.cases for problem in case.unbuilt]
    return LookedAt(
        suite.suite_id,
        path,
        tuple(models),
        taken.cases,
        refused=(*refused, *unsendable(models, taken.cases)),
        problems=(*problems, *taken.problems),
    )


def and_more(names: Sequence[str], most: int = 3) -> str:
    """Return the first few names as a person would say them."""
    first = ", ".join(names[:most])
    return first + (f" and {len(names) - most} more" if len(names) > most else "")

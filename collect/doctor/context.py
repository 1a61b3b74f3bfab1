"""What all checks share: the suites, models and addresses they look at, and how they say a finding.

Text of servers is cleaned once, here, before anyone sees it. A terminal shows what a check is
waiting for as soon as the wait is noticeable.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import orjson
from pydantic import JsonValue
from rich.console import Console

from collect.config import LoadedCase, ResolvedModel
from collect.config.cases import CaseFile, find_cases
from collect.config.evaluation import load_evaluation_profile
from collect.config.models import resolve_models
from collect.config.project_files import find_project, resolve
from collect.config.select import suite_cases
from collect.config.tools.web_search import web_search_problems
from collect.config.unsupported import unsendable
from collect.config.validate import parsed
from collect.doctor.probe import Address, Visit
from schemas.config.project import LoadedProject
from schemas.config.run_profile import AgentRunProfile, RunProfile
from schemas.config.suite import Suite
from schemas.errors import ConfigError, Problem, counted, printable
from schemas.output.doctor import Area, DoctorCheck, State
from schemas.redact import MARK, redact, redact_json
from schemas.run.model_names import ModelNames

ANY_PROFILE = RunProfile(
    schema_version=1,
    run_profile_id="any",
    title="any",
    openclaw=AgentRunProfile(agent_id="any", executable="local", timeout_seconds=1),
)
"""A suite is looked at without a run profile: where models are asked is the suite's business."""

FOLDER = Path("configs") / "evaluation_profiles"

Details = dict[str, JsonValue]
"""Numbers and names behind a sentence, for programs."""

MAX_TEXT_CHARS = 400
"""Characters of one sentence; cut after keys were taken out, never through one."""

FELT_S = 1.0


@dataclass(frozen=True)
class Finding:
    """What a check says of one thing, as it stands; `cleaned` makes it fit to be shown."""

    subject: str
    state: State
    text: str
    advice: str | None = None
    details: Details = field(default_factory=dict)


@dataclass(frozen=True)
class InspectedSuite:
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
class InspectedProfile:
    """One evaluation profile: whom it would ask, or why it cannot be loaded."""

    name: str
    path: Path
    judges: tuple[ResolvedModel, ...] = ()
    pass_threshold: float | None = None
    problems: tuple[Problem, ...] = ()
    """What keeps it from loading."""


@dataclass(frozen=True)
class Scene:
    """Everything the checks share."""

    suites: tuple[InspectedSuite, ...]
    profiles: tuple[InspectedProfile, ...]
    has_project: bool
    runs_dir: Path
    visits: Mapping[Address, asyncio.Task[Visit]]
    project: LoadedProject
    allowed_hosts: frozenset[str]
    is_for_people: bool = False
    """Models are called by their labels; a program gets their ids."""

    def models(self) -> list[tuple[str, ResolvedModel]]:
        """Return every model with what to call it, then every judge.

        With its suite or its evaluation profile where there are several of them.
        """
        several = len([suite for suite in self.suites if suite.models]) > 1
        found = []
        for suite in self.suites:
            names = ModelNames.of_models(suite.models if self.is_for_people else ())
            within = f"{suite.name}/" if several else ""
            found += [(f"{within}{names.of(model.model_id)}", model) for model in suite.models]
        several = len([profile for profile in self.profiles if profile.judges]) > 1
        for profile in self.profiles:
            within = f"{profile.name}/" if several else ""
            found += [(f"judge {within}{one.model_id}", one) for one in profile.judges]
        return found

    def embedded(self) -> list[tuple[str, ResolvedModel]]:
        """Return the models that a run serves itself, called as in `models`."""
        return [(name, model) for name, model in self.models() if model.embedded is not None]

    def users(self, uses: Callable[[ResolvedModel], bool]) -> list[str]:
        """Return what the models are called for which something holds."""
        return [name for name, model in self.models() if uses(model)]

    async def visit_of(self, address: Address) -> Visit:
        """Return what an address said; asked once, however many want to know."""
        return await asyncio.shield(self.visits[address])


def inspect_suites(
    reference: str | None, working_dir: Path, project_file: LoadedProject, hosts: frozenset[str]
) -> tuple[InspectedSuite, ...]:
    """Return the suite that was named, else every suite of the project around a folder.

    Args:
        reference: the suite's id or path; None: all of them.
        working_dir: where the project is looked for.
        project_file: what holds for every run of it.
        hosts: those that it or the command line allows, in lower case.

    Raises:
        ConfigError: the named suite does not load.
    """
    cases_of = cache(find_cases)

    def inspected(path: Path) -> InspectedSuite:
        return _inspect_suite(path, project_file, hosts, cases_of)

    if reference is not None:
        suite = inspected(resolve(reference, "suite", working_dir))
        if suite.problems:
            raise ConfigError(suite.problems)
        return (suite,)
    project = find_project(working_dir)
    paths = sorted((project / "configs" / "suites").glob("*.yaml")) if project else []
    return tuple(map(inspected, paths))


def inspect_profiles(
    reference: str | None, working_dir: Path, hosts: frozenset[str], *, is_all: bool
) -> tuple[InspectedProfile, ...]:
    """Return the evaluation profile that was named, else those of the project around a folder.

    Args:
        reference: the profile's id or path; None: none in particular.
        working_dir: where the project is looked for.
        hosts: those that are allowed, in lower case.
        is_all: without one that is named, every profile of the project.

    Raises:
        ConfigError: the named profile does not load.
    """
    if reference is not None:
        return (_inspect_profile(resolve(reference, "evaluation profile", working_dir), hosts),)
    project = find_project(working_dir) if is_all else None
    paths = sorted((project / FOLDER).glob("*.yaml")) if project else []
    return tuple(_tried_profile(path, hosts) for path in paths)


def _inspect_profile(path: Path, hosts: frozenset[str]) -> InspectedProfile:
    found = load_evaluation_profile(str(path), path.parent, allowed_hosts=hosts)
    return InspectedProfile(
        found.profile.evaluation_profile_id,
        path,
        tuple(judge.model for judge in found.judges),
        found.profile.aggregation.pass_threshold,
    )


def _tried_profile(path: Path, hosts: frozenset[str]) -> InspectedProfile:
    try:
        return _inspect_profile(path, hosts)
    except ConfigError as exc:
        return InspectedProfile(path.stem, path, problems=exc.problems)


def _inspect_suite(
    path: Path,
    project_file: LoadedProject,
    hosts: frozenset[str],
    cases_of: Callable[[Path], Sequence[CaseFile]],
) -> InspectedSuite:
    try:
        source, suite = parsed(Suite, "suite_id", path)
    except ConfigError as exc:
        return InspectedSuite(path.stem, path, problems=exc.problems)
    models, problems, _ = resolve_models(suite, ANY_PROFILE, source, hosts)
    taken = suite_cases(suite, source, cases_of)
    refused = [one.problem for case in taken.cases for one in case.unbuilt]
    return InspectedSuite(
        suite.suite_id,
        path,
        tuple(models),
        taken.cases,
        refused=(*refused, *unsendable(models, taken.cases)),
        problems=(
            *problems,
            *taken.problems,
            *web_search_problems(project_file, hosts, taken.cases),
        ),
    )


def and_more(names: Sequence[str]) -> str:
    """Return the first few names as a person would say them."""
    first = ", ".join(names[:3])
    return first + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def cleaned(area: Area, finding: Finding, secrets: Iterable[str]) -> DoctorCheck:
    """Return a finding without keys and without characters that a terminal obeys.

    Secrets are values of the keys that were sent, which no pattern may know.
    """

    def text(words: str) -> str:
        safe = printable(redact(_without(words, secrets)))
        return safe if len(safe) <= MAX_TEXT_CHARS else safe[: MAX_TEXT_CHARS - 1] + "…"

    details = redact_json(_without_json(finding.details, secrets))
    assert isinstance(details, dict)
    return DoctorCheck(
        area=area,
        subject=text(finding.subject or "–"),
        state=finding.state,
        found=text(finding.text or "–"),
        advice=None if finding.advice is None else text(finding.advice),
        details=details,
    )


def words_of(body: bytes, headers: Mapping[str, str], secrets: Iterable[str]) -> str:
    """Return what an answer that is no list says, short: a page's own words are not its tags."""
    words = redact(_without(body.decode(errors="replace"), secrets))
    if "html" in headers.get("content-type", "").lower() or words.lstrip().startswith("<"):
        return "a web page"
    words = " ".join(_message(words).split())
    return f"`{words[:200]}{'…' * (len(words) > 200)}`" if words else "nothing"


def _message(words: str) -> str:
    """Return the sentence inside an error of JSON, else the words as they are."""
    try:
        value: JsonValue = orjson.loads(words)
    except orjson.JSONDecodeError:
        return words
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and name in value:
            value = value[name]
    return value if isinstance(value, str) and value else words


def _without(text: str, secrets: Iterable[str]) -> str:
    """Return a text without these values, the longer first: one may be part of another."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MARK)
    return text


def _without_json(value: JsonValue, secrets: Iterable[str]) -> JsonValue:
    if isinstance(value, str):
        return _without(value, secrets)
    if isinstance(value, list):
        return [_without_json(item, secrets) for item in value]
    if isinstance(value, dict):
        return {
            _without(name, secrets): _without_json(item, secrets) for name, item in value.items()
        }
    return value


async def say_waiting(addresses: int) -> None:
    """Show a spinner on standard error until cancelled; nothing in the first second."""
    if not sys.stderr.isatty():
        return
    await asyncio.sleep(FELT_S)
    what = f"asking {counted(addresses, 'endpoint')}" if addresses else "looking"
    with Console(stderr=True).status(f"{what} …"):
        await asyncio.Event().wait()

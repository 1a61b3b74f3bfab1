"""Checks of single files of a project, each by its kind, without making a run of them.

What lies in a project and is never read is named too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from collect.config import unsupported
from collect.config.agents import agent_folders, assign_agents, load_agent_file
from collect.config.cases import CaseFile, find_cases, load_case
from collect.config.evaluation import load_evaluation_profile
from collect.config.models import resolve_models, too_many_at_once
from collect.config.project_files import FOLDERS, name_problems, project_of, unknown
from collect.config.prompt_lists import load_prompt_list
from collect.config.runners import AGENT_BLOCKS, RUNNERS
from collect.config.select import suite_cases
from collect.config.tools.web_search import address_problems, web_search_problems
from schemas.config.project import NAME as PROJECT_FILE
from schemas.config.project import LoadedProject, load_project_file
from schemas.config.run_profile import CommandRunProfile, RunProfile
from schemas.config.suite import Suite
from schemas.errors import ConfigError, Problem, display_path, nearest
from schemas.io.validation import parse
from schemas.io.yaml import KeyPath, Source, dotted, read_yaml

Kind = TypeVar("Kind", bound=BaseModel)

ID_KEYS = {
    "case_id": "case",
    "suite_id": "suite",
    "run_profile_id": "run profile",
    "evaluation_profile_id": "evaluation profile",
    "agent_id": "agent",
}
NAMES = {"test.yaml": "case", "agent.yaml": "agent", PROJECT_FILE: "project file"}
PLACES = {
    "suites": "suite",
    "run_profiles": "run profile",
    "evaluation_profiles": "evaluation profile",
}
FIVE = ", ".join(f"{kind} (`{key}`)" for key, kind in ID_KEYS.items())


@dataclass
class Findings:
    """What was checked, and what came of it; cases are read once for all suites."""

    checked: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    cases: list[CaseFile] = field(default_factory=list)
    """Those that were checked, in the order of their files."""
    _cases: dict[Path, list[CaseFile]] = field(default_factory=dict)

    def cases_of(self, project: Path | None) -> list[CaseFile]:
        """Return every case of a project."""
        if project is None:
            return []
        if project not in self._cases:
            self._cases[project] = find_cases(project)
        return self._cases[project]

    def refused(self, problem: Problem) -> None:
        """Keep what is no mistake, and refused by `plan` and `run`."""
        self.warnings.append(f"{problem}; a run refuses it")

    def note_once(self, problems: Iterable[Problem]) -> None:
        """Keep problems of a file that several others lead to."""
        self.problems += [problem for problem in problems if problem not in self.problems]


def parsed(
    model: type[Kind], id_key: str, path: Path, warnings: list[str] | None = None
) -> tuple[Source, Kind]:
    """Return a file and its record, whose id must be the file's name.

    With `warnings`, which takes it, a kind may have another id: a path finds it all the same.

    Raises:
        ConfigError: every problem of the file.
    """
    source = read_yaml(path)
    record = parse(model, source)
    wrong = name_problems(source, id_key, getattr(record, id_key))
    if wrong and warnings is None:
        raise ConfigError(wrong)
    if warnings is not None:
        warnings += [f"{problem}; its path finds it, its id does not" for problem in wrong]
    return source, record


def check_agent_name(agent_id: str, source: Source, key: KeyPath, found: Findings) -> None:
    """Check that a suite or run profile names an agent of its project."""
    project = project_of(source.path)
    known = agent_folders(project) if project else {}
    if agent_id not in known:
        problem = unknown(agent_id, "agent", source.path, known)
        found.problems.append(replace(problem, key=dotted(key), line=source.line_of(key)))


def project_file_of(path: Path) -> LoadedProject | None:
    """Return the project file of a file; None: it is broken, and reported where it is checked."""
    try:
        return load_project_file(path.resolve().parent)
    except ConfigError:
        return None


def check_project_file(path: Path, found: Findings) -> None:
    """Check benchlake.yaml; whether a host may be searched is asked where a case does it."""
    found.note_once(address_problems(load_project_file(path.resolve().parent)))


def case_file(file: CaseFile, found: Findings) -> None:
    """Take over what loading a case found."""
    found.cases.append(file)
    found.problems += file.problems
    found.warnings += file.warnings
    for one in file.case.unbuilt if file.case else ():
        found.refused(one.problem)
    if file.case is not None and (unread := list(unsupported.of_case(file.case))):
        found.warnings += unsupported.warnings_at(read_yaml(file.path), unread)


def check_suite(path: Path, found: Findings) -> None:
    """Check one suite: models, selection, prompt lists and agents."""
    source, suite = parsed(Suite, "suite_id", path)
    place = CommandRunProfile(agent_id="any", executable="local", timeout_seconds=1)
    blocks: dict[str, Any] = dict.fromkeys(AGENT_BLOCKS, place)
    profile = RunProfile(schema_version=1, run_profile_id="any", title="any", **blocks)
    project = project_file_of(path)
    hosts = frozenset(project.allowed_hosts if project else ())
    models, problems, warnings = resolve_models(suite, profile, source, hosts)
    for problem in problems:
        found.problems.append(problem)
    taken = suite_cases(suite, source, found.cases_of)
    kinds = frozenset(case.runner_type for case in taken.cases)
    unread = unsupported.of_suite(suite, kinds)
    found.warnings += [*warnings, *unsupported.warnings_at(source, unread)]
    found.problems += [*taken.problems, *unsupported.unsendable(models, taken.cases)]
    found.warnings += taken.warnings
    if project is not None:
        found.note_once(web_search_problems(project, hosts, taken.cases))
    _, problems = assign_agents(suite, profile, taken.cases, source, source)
    found.problems += problems
    for block in AGENT_BLOCKS:
        written = getattr(suite, block)
        for number, assignment in enumerate(written.agent_assignments if written else ()):
            key = (block, "agent_assignments", number, "agent_id")
            check_agent_name(assignment.agent_id, source, key, found)


def check_run_profile(path: Path, found: Findings) -> None:
    """Check one run profile, and that the agent it names is there."""
    source, profile = parsed(RunProfile, "run_profile_id", path, found.warnings)
    unread = unsupported.of_profile(profile, frozenset(RUNNERS))
    found.warnings += unsupported.warnings_at(source, unread)
    found.warnings += unsupported.greedy_profile(profile, source)
    found.problems += too_many_at_once(profile, source)
    for block in AGENT_BLOCKS:
        if (place := getattr(profile, block)) is not None:
            check_agent_name(place.agent_id, source, (block, "agent_id"), found)


def check_evaluation_profile(path: Path, found: Findings) -> None:
    """Check one evaluation profile."""
    project = project_file_of(path)
    hosts = project.allowed_hosts if project else ()
    loaded = load_evaluation_profile(str(path), Path.cwd(), allowed_hosts=hosts)
    found.warnings += loaded.warnings


def check_agent(path: Path, _found: Findings) -> None:
    """Check one agent and its workspace."""
    load_agent_file(path)


CHECKS: dict[str, Callable[[Path, Findings], object]] = {
    "project file": check_project_file,
    "case": lambda path, found: case_file(load_case(path), found),
    "suite": check_suite,
    "run profile": check_run_profile,
    "evaluation profile": check_evaluation_profile,
    "agent": check_agent,
    "prompt list": lambda path, _: load_prompt_list(path),
}


def check(kind: str, path: Path, found: Findings) -> None:
    """Check one file as a kind, and count it."""
    found.checked[kind] += 1
    try:
        CHECKS[kind](path, found)
    except ConfigError as exc:
        found.problems += exc.problems


def kind_of(path: Path) -> str:
    """Return a file's kind by its name, its extension, its id key or its folder.

    Raises:
        ConfigError: it cannot be read, or is of no known kind.
    """
    if path.name in NAMES:
        return NAMES[path.name]
    if path.suffix in {".json", ".jsonl"}:
        return "prompt list"
    data = read_yaml(path).data
    keys = [key for key in ID_KEYS if isinstance(data, dict) and key in data]
    # only a case and an agent have a name of their own, which has been looked at
    if len(keys) == 1:
        return ID_KEYS[keys[0]]
    if path.parent.name in PLACES:
        return PLACES[path.parent.name]
    found = " and ".join(f"`{key}`" for key in keys) or "no id key"
    raise ConfigError([Problem(path, "is of no known kind", found=found, allowed=FIVE)])


def strays(configs: Path) -> Iterator[str]:
    """Say what looks like a part of the project and is never read."""
    for path in sorted(configs.iterdir()):
        if path.is_dir() and path.name not in FOLDERS and (near := nearest(path.name, FOLDERS)):
            yield f"{display_path(path)}: is never read; did you mean `{near}`?"
    for folder in (*PLACES, "cases", "agents"):
        for path in sorted((configs / folder).glob("*.yml")):
            yield f"{display_path(path)}: is never found by its id; name it {path.stem}.yaml"
    for path in sorted((configs / "cases").glob("*/*/*/**/test.yaml")):
        yield f"{display_path(path)}: lies too deep to be read; cases lie at depth one or two"
    for path in sorted((configs / "agents").iterdir() if (configs / "agents").is_dir() else ()):
        if path.is_dir() and not (path / "agent.yaml").is_file():
            yield f"{display_path(path)}: has no agent.yaml, so there is no such agent"

"""What checking many files finds, and what the checks of several kinds share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from collect.config.agents import agent_folders
from collect.config.cases import CaseFile, find_cases
from collect.config.project_files import name_problems, project_of, unknown
from collect.config.unsupported import NOT_BUILT
from schemas.config.project import load_project_file
from schemas.errors import ConfigError, Problem
from schemas.io.validation import parse
from schemas.io.yaml import KeyPath, Source, dotted, read_yaml

Kind = TypeVar("Kind", bound=BaseModel)


@dataclass
class Findings:
    """What was checked, and what came of it; cases are read once for all suites."""

    checked: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
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

    def note(self, problem: Problem) -> None:
        """Keep a problem; what is only not built yet is a warning."""
        if NOT_BUILT in problem.what:
            self.refused(problem)
        else:
            self.problems.append(problem)


def parsed(
    model: type[Kind], id_key: str, path: Path, warnings: list[str] | None = None
) -> tuple[Source, Kind]:
    """Return a file and its record, whose id must be the file's name.

    Args:
        model: of the record.
        id_key: of its id.
        path: the file.
        warnings: takes it where a kind may have another id, which a path finds all the same.

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
        line = source.line_of(key)
        found.problems.append(
            Problem(
                source.path,
                problem.what,
                dotted(key),
                line,
                allowed=problem.allowed,
                nearest=problem.nearest,
            )
        )


def hosts_of(path: Path) -> tuple[str, ...]:
    """Return the hosts of the project file; its own problems are reported where it is checked."""
    try:
        return load_project_file(path.resolve().parent).allowed_hosts
    except ConfigError:
        return ()

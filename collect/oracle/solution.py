"""A case's solution, loaded: what it answers, the files it leaves, and the script that makes them.

No model sees it and no run reads it: it is no part of what a trial is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from collect.config.agents import WorkspaceEntry, read_folder
from collect.config.cases import CaseFile, Notes, inside, read_case_file
from schemas.config.case import Solution
from schemas.errors import ConfigError, Problem
from schemas.io.yaml import read_yaml

NO_WORKSPACE = "is for cases whose trials have a workspace, and this one's have none"


@dataclass(frozen=True, slots=True)
class LoadedSolution:
    """What a case says that solves it."""

    text: str | None = None
    tool_calls: tuple[str, ...] = ()
    folder: Path | None = None
    """Of the files that it leaves in the workspace."""
    files: tuple[WorkspaceEntry, ...] = ()
    script: Path | None = None


def solution_problems(file: CaseFile) -> tuple[Problem, ...]:
    """Return what is wrong with the solution of a case; nothing where it has none."""
    try:
        load_solution(file)
    except ConfigError as exc:
        return exc.problems
    return ()


def load_solution(file: CaseFile) -> LoadedSolution | None:
    """Return the solution of a case; None: it has none.

    Raises:
        ConfigError: a file of it is not there, is outside, or is for another kind of case.
    """
    solution = file.solution
    if solution is None or file.case is None:
        return None
    notes = Notes(read_yaml(file.path))
    for name in ("files", "script"):
        if getattr(solution, name) is not None and not file.case.has_workspace:
            notes.add_problem(NO_WORKSPACE, ("solution", name))
    folder, files = _files(solution, notes)
    script = None
    if solution.script is not None:
        found = read_case_file(solution.script, ("solution", "script"), notes)
        script = None if found is None else found[0]
    if notes.problems:
        raise ConfigError(notes.problems)
    return LoadedSolution(solution.text, solution.tool_calls, folder, files, script)


def _files(solution: Solution, notes: Notes) -> tuple[Path | None, tuple[WorkspaceEntry, ...]]:
    if solution.files is None:
        return None, ()
    key = ("solution", "files")
    folder = inside(solution.files, key, notes)
    if folder is None:
        return None, ()
    if not folder.is_dir():
        notes.add_problem("is no folder beside test.yaml", key, found=f"`{solution.files}`")
        return None, ()
    files, problems = read_folder(folder)
    notes.problems += problems
    return folder, tuple(files)

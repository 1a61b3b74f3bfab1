"""`collect validate`: every problem of a whole project, or of single files, at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from collect.config import validate
from collect.config.cases import CaseFile
from collect.config.project_files import FOLDERS
from schemas.config.project import find_project_file
from schemas.errors import EXIT_OK, EXIT_USAGE, ConfigError, Problem, counted, display_path
from schemas.redact import redact

FACTS = ("what", "found", "allowed", "nearest", "advice")
"""What is printed of a problem as it stands."""


@dataclass(frozen=True)
class Validation:
    """What was checked, and what is wrong; in the order of the files."""

    checked: dict[str, int]
    """Number of files by kind; every kind is there."""
    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]
    cases: tuple[CaseFile, ...] = ()
    """Those that were checked."""

    @property
    def exit_code(self) -> int:
        """Return 0, or 2 when anything is wrong."""
        return EXIT_USAGE if self.problems else EXIT_OK


def validate_paths(paths: Sequence[Path], working_dir: Path) -> Validation:
    """Check projects (a folder with `configs/`, or that folder) and single files.

    Never raises for what a user wrote, and never stops at the first problem.
    """
    found = validate.Findings()
    for path in paths:
        _visit(working_dir / path.expanduser(), found)
    solved = [file for file in found.cases if file.solution is not None]
    if solved:
        from collect.oracle.solution import solution_problems  # noqa: PLC0415 - few cases have one

        found.problems += [problem for file in solved for problem in solution_problems(file)]
    return Validation(
        checked={kind: found.checked[kind] for kind in validate.CHECKS},
        problems=tuple(dict.fromkeys(found.problems)),
        warnings=tuple(dict.fromkeys(map(redact, found.warnings))),
        cases=tuple({file.path: file for file in found.cases}.values()),
    )


def _visit(path: Path, found: validate.Findings) -> None:
    if not path.is_dir():
        _file(path, found)
    elif (path / "configs").is_dir():
        _project(path, found)
    elif path.name == "configs" or any((path / folder).is_dir() for folder in FOLDERS):
        _project(path.resolve().parent, found)
    else:
        inside = [path / name for name in validate.NAMES if (path / name).is_file()]
        for file in inside or sorted(path.glob("*.yaml")):
            _file(file, found)
        if not inside and not any(path.glob("*.yaml")):
            what = "holds neither `configs/` nor a file of a known kind"
            found.problems.append(Problem(path, what))


def _project(project: Path, found: validate.Findings) -> None:
    """Check every file of a project."""
    configs = project / "configs"
    if (settings := find_project_file(project)) is not None:
        validate.check("project file", settings, found)
    for file in found.cases_of(project):
        found.checked["case"] += 1
        validate.case_file(file, found)
    for folder, kind in validate.PLACES.items():
        for path in sorted((configs / folder).glob("*.yaml")):
            validate.check(kind, path, found)
    for path in sorted((configs / "agents").glob("*/agent.yaml")):
        validate.check("agent", path, found)
    found.warnings += validate.strays(configs)


def _file(path: Path, found: validate.Findings) -> None:
    try:
        kind = validate.kind_of(path)
    except ConfigError as exc:
        found.problems += exc.problems
        return
    validate.check(kind, path, found)


def text(validation: Validation) -> str:
    """Return the outcome for people: problems, warnings, then what was checked."""
    lines = [f"error: {problem}" for problem in validation.problems]
    lines += [f"warning: {warning}" for warning in validation.warnings]
    counts = [counted(count, kind) for kind, count in validation.checked.items() if count]
    problems = len(validation.problems)
    outcome = "no problems" if not problems else counted(problems, "problem")
    return "\n".join([*lines, f"checked {', '.join(counts) or 'nothing'}: {outcome}"])


def to_json(validation: Validation, **more: object) -> str:
    """Return the outcome as one JSON object, with what else is known."""
    return orjson.dumps(
        {
            "checked": validation.checked,
            "problems": [_problem_json(problem) for problem in validation.problems],
            "warnings": list(validation.warnings),
            "exit_code": validation.exit_code,
            **more,
        },
        option=orjson.OPT_INDENT_2,
    ).decode()


def _problem_json(problem: Problem) -> dict[str, object]:
    return {
        "path": None if problem.path is None else display_path(problem.path),
        "line": problem.line,
        "key": problem.key or None,
        **{name: getattr(problem, name) for name in FACTS},
    }

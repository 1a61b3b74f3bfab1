"""`collect validate --oracle`: cases held against their own checks, on the screen or as JSON."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from collect.commands.progress import Progress
from collect.commands.validate import Validation, text, to_json
from collect.config.agents import LoadedAgent, load_agent
from collect.config.cases import CaseFile
from collect.config.evaluation import allowed, load_evaluation_profile
from collect.config.project_files import project_of
from collect.execute.evaluation import evaluation_of, hooks_problem
from collect.oracle.examination import Examination, Examiner, Grade
from schemas.config.project import load_project_file
from schemas.config.sandbox import SandboxLimits
from schemas.errors import (
    EXIT_BAD_NEWS,
    EXIT_OK,
    ConfigError,
    Interrupted,
    Problem,
    counted,
    display_path,
    printable,
)
from schemas.run.config import RunEvaluation


@dataclass(frozen=True, slots=True)
class OracleRequest:
    """What somebody asks for: the words of the command line, not yet looked up."""

    agent: str | None = None
    """Whose workspace agents' cases begin with; None: an empty one."""
    evaluation_profile: str | None = None
    """By id or path; lets hooks run where it allows them."""
    again: str = "collect validate --oracle"
    """The command, for after Ctrl-C."""


def hold_against_checks(validation: Validation, request: OracleRequest, *, as_json: bool) -> int:
    """Hold the cases of a project against their own checks, show it, and return the exit code.

    Args:
        validation: of the project, without a problem.
        request: what was asked for.
        as_json: show one JSON object.

    Raises:
        ConfigError: agent or evaluation profile are wrong, or no sandbox holds.
        Interrupted: Ctrl-C.
    """
    found = _examined([file for file in validation.cases if file.case is not None], request)
    is_bad = any(one.defects for one in found)
    exit_code = EXIT_BAD_NEWS if is_bad else EXIT_OK
    if as_json:
        shown = to_json(validation, exit_code=exit_code, oracle=_objects(found))
    else:
        shown = f"{text(validation)}\n{_said(found)}"
    sys.stdout.write(shown + "\n")
    return exit_code


def _examined(files: list[CaseFile], request: OracleRequest) -> list[Examination]:
    evaluation = _evaluation(request.evaluation_profile)
    if evaluation is not None and evaluation.security_policy.allow_local_python_hooks:
        files = [_with_hooks(file) for file in files]
        cases = [file.case for file in files if file.case is not None]
        if (problem := hooks_problem(cases, evaluation, is_unsafe=False)) is not None:
            raise ConfigError([problem])
    examiner = Examiner(_agent(request.agent, files), evaluation)
    try:
        return asyncio.run(examiner.examine(files, Progress("cases")))
    except KeyboardInterrupt as exc:
        raise Interrupted(request.again, when="") from exc


def _with_hooks(file: CaseFile) -> CaseFile:
    assert file.case is not None
    return replace(file, case=allowed(file.case))


def _evaluation(reference: str | None) -> RunEvaluation | None:
    if reference is None:
        return None
    working_dir = Path.cwd()
    hosts = load_project_file(working_dir).allowed_hosts
    found = load_evaluation_profile(reference, working_dir, allowed_hosts=hosts)
    return evaluation_of(found, SandboxLimits())


def _agent(agent_id: str | None, files: Sequence[CaseFile]) -> LoadedAgent | None:
    if agent_id is None:
        return None
    project = project_of(files[0].path) if files else None
    if project is None:
        what = f"agent `{agent_id}` is looked for under configs/agents, and no case is in a project"
        raise ConfigError([Problem(None, what)])
    return load_agent(agent_id, project)


def _said(found: Sequence[Examination]) -> str:
    """Return what came of it, for people: defects, then what was tried."""
    lines = [
        f"defect: {display_path(one.path)}: case `{one.case_id}`: {defect}"
        for one in found
        for defect in one.defects
    ]
    skipped: dict[str, list[str]] = {}
    for one in found:
        if one.skipped:
            skipped.setdefault(one.skipped, []).append(one.case_id)
    for why, case_ids in skipped.items():
        lines.append(f"not tried: {_named(case_ids)}: {why}")
    solved = sum(one.solution is not None for one in found)
    tried = sum(one.empty is not None for one in found)
    defective = sum(bool(one.defects) for one in found)
    rest = f" ({counted(tried - solved, 'case')} without a solution)" if tried > solved else ""
    outcome = counted(defective, "defective case") if defective else "no defects"
    lines.append(
        f"tried {counted(solved, 'solution')} and {counted(tried, 'empty answer')}{rest}: {outcome}"
    )
    return "\n".join(map(printable, lines))


def _objects(found: Iterable[Examination]) -> list[dict[str, object]]:
    """Return what came of it, as JSON objects."""
    return [
        {
            "case_id": one.case_id,
            "path": display_path(one.path),
            "solution": _grade(one.solution),
            "empty": _grade(one.empty),
            "skipped": one.skipped or None,
            "defects": list(one.defects),
        }
        for one in found
    ]


def _grade(grade: Grade | None) -> dict[str, object] | None:
    if grade is None:
        return None
    return {
        "passed": grade.passed,
        "violation": grade.violation,
        "checks": [one.model_dump(mode="json", exclude_none=True) for one in grade.checks],
        "problem": grade.problem or None,
    }


def _named(case_ids: Sequence[str]) -> str:
    if len(case_ids) == 1:
        return f"case `{case_ids[0]}`"
    return f"{counted(len(case_ids), 'case')}, `{case_ids[0]}` first"

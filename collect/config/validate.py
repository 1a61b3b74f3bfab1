"""Checks single files of a project whole, without making a run of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from collect.config.agents import load_agent_file
from collect.config.assignments import assign_agents
from collect.config.cases import CaseFile, load_case
from collect.config.concurrency import too_many_at_once
from collect.config.evaluation import load_evaluation_profile
from collect.config.findings import Findings, check_agent_name, hosts_of, parsed
from collect.config.models import resolve_models
from collect.config.prompt_lists import load_prompt_list
from collect.config.repetitions import greedy_profile
from collect.config.sendable import unsendable
from collect.config.suite_cases import suite_cases
from collect.config.unsupported import (
    JUDGING,
    RUNNER,
    of_case,
    of_profile,
    of_suite,
    warnings_at,
)
from schemas.config.project import load_project_file
from schemas.config.run_profile import OpenClawRunProfile, RunProfile
from schemas.config.suite import Suite
from schemas.errors import ConfigError, shown
from schemas.io.yaml import read_yaml


def check_case(path: Path, found: Findings) -> None:
    """Check one test.yaml."""
    case_file(load_case(path), found)


def case_file(file: CaseFile, found: Findings) -> None:
    """Take over what loading a case found."""
    found.problems += file.problems
    found.warnings += file.warnings
    for problem in file.case.unbuilt if file.case else ():
        found.refused(problem)
    if file.case is not None and (unread := list(of_case(file.case))):
        found.warnings += warnings_at(read_yaml(file.path), unread)


def check_suite(path: Path, found: Findings) -> None:
    """Check one suite: models, selection, prompt lists and agents."""
    source, suite = parsed(Suite, "suite_id", path)
    openclaw = OpenClawRunProfile(agent_id="any", image="any", timeout_seconds=1)
    profile = RunProfile(schema_version=1, run_profile_id="any", title="any", openclaw=openclaw)
    hosts = frozenset(hosts_of(path))
    models, problems, warnings = resolve_models(suite, profile, source, hosts)
    for problem in problems:
        found.note(problem)
    found.warnings += [*warnings, *warnings_at(source, of_suite(suite))]
    taken = suite_cases(suite, source, found.cases_of)
    found.problems += [*taken.problems, *unsendable(models, taken.cases)]
    found.warnings += taken.warnings
    _, problems = assign_agents(suite, profile, taken.cases, source, source)
    found.problems += problems
    assignments = suite.openclaw.agent_assignments if suite.openclaw else ()
    for number, assignment in enumerate(assignments):
        key = ("openclaw", "agent_assignments", number, "agent_id")
        check_agent_name(assignment.agent_id, source, key, found)


def check_run_profile(path: Path, found: Findings) -> None:
    """Check one run profile, and that the agent it names is there."""
    source, profile = parsed(RunProfile, "run_profile_id", path, found.warnings)
    found.warnings += warnings_at(source, of_profile(profile))
    found.warnings += greedy_profile(profile, source)
    found.problems += too_many_at_once(profile, source)
    if profile.openclaw is not None:
        key = ("openclaw", "agent_id")
        check_agent_name(profile.openclaw.agent_id, source, key, found)


def check_evaluation_profile(path: Path, found: Findings) -> None:
    """Check one evaluation profile."""
    hosts = hosts_of(path)
    loaded = load_evaluation_profile(str(path), Path.cwd(), allowed_hosts=hosts)
    found.warnings += [*loaded.warnings, f"{shown(path)}: {JUDGING}"]


def check_agent(path: Path, found: Findings) -> None:
    """Check one agent and its workspace."""
    load_agent_file(path)
    found.warnings.append(f"{shown(path)}: {RUNNER}")


def check_prompt_list(path: Path, found: Findings) -> None:
    """Check one prompt list."""
    del found
    load_prompt_list(path)


def check_project_file(path: Path, found: Findings) -> None:
    """Check one benchlake.yaml."""
    del found
    load_project_file(path.resolve().parent)


CHECKS: dict[str, Callable[[Path, Findings], None]] = {
    "project file": check_project_file,
    "case": check_case,
    "suite": check_suite,
    "run profile": check_run_profile,
    "evaluation profile": check_evaluation_profile,
    "agent": check_agent,
    "prompt list": check_prompt_list,
}


def check(kind: str, path: Path, found: Findings) -> None:
    """Check one file as a kind, and count it."""
    found.checked[kind] += 1
    try:
        CHECKS[kind](path, found)
    except ConfigError as exc:
        found.problems += exc.problems

"""Which agent runs which openclaw case (D-E4): one each, settled before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from collect.config.agents import agent_fingerprint, load_agent
from collect.config.project_files import project_of
from collect.config.resolved import LoadedCase
from collect.config.select import takes, unknown_ids
from schemas.config.run_profile import RunProfile
from schemas.config.suite import Suite
from schemas.errors import ConfigError, Problem
from schemas.io.yaml import Source, dotted


def assign_agents(
    suite: Suite,
    profile: RunProfile,
    cases: Sequence[LoadedCase],
    suite_source: Source,
    profile_source: Source,
) -> tuple[dict[str, str], list[Problem]]:
    """Return the agent of each openclaw case, and what is wrong."""
    assignments = suite.openclaw.agent_assignments if suite.openclaw else ()
    known = {case.case_id for case in cases}
    problems: list[Problem] = []
    for number, assignment in enumerate(assignments):
        at = ("openclaw", "agent_assignments", number, "case_selection")
        problems += unknown_ids(assignment.case_selection, known, suite_source, at)
    agents: dict[str, str] = {}
    default = profile.openclaw.agent_id if profile.openclaw else None
    for case in cases:
        matches = [
            number
            for number, assignment in enumerate(assignments)
            if takes(assignment.case_selection, case.case_id, case.tags)
        ]
        if len(matches) > 1:
            key = ("openclaw", "agent_assignments", matches[1])
            names = " and ".join(f"`{assignments[number].agent_id}`" for number in matches[:2])
            what = f"case `{case.case_id}` matches two assignments: {names}"
            line = suite_source.line_of(key)
            problems.append(Problem(suite_source.path, what, dotted(key), line))
        if case.runner_type != "openclaw":
            continue
        if profile.openclaw is None:
            what = f"case `{case.case_id}` runs with openclaw, and the profile has no such block"
            problems.append(Problem(profile_source.path, what, "openclaw"))
        elif agent := assignments[matches[0]].agent_id if matches else default:
            agents[case.case_id] = agent
    return agents, problems


def fingerprint_agents(
    agents: Mapping[str, str], suite_source: Source, profile_source: Source
) -> tuple[dict[str, str], list[Problem]]:
    """Return the fingerprint of each agent that is needed, and what is wrong with them."""
    project = project_of(suite_source.path)
    prints: dict[str, str] = {}
    problems: list[Problem] = []
    for agent_id in sorted(set(agents.values())):
        if project is None:
            what = f"agent `{agent_id}` is looked for under configs/agents, and there is no project"
            problems.append(Problem(profile_source.path, what))
            continue
        try:
            prints[agent_id] = agent_fingerprint(load_agent(agent_id, project))
        except ConfigError as exc:
            problems += exc.problems
    return prints, problems

"""Agents: agent.yaml, the workspace beside it, and which agent runs which case (D-E4).

Each case of an agent has one, settled before anything runs. A workspace is read by content and
nothing from outside it; empty folders and file modes are not part of it: git does not keep the
first, and the second differ between machines.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import orjson

from collect.config.project_files import problem_at, project_of, unknown
from collect.config.resolved import LoadedCase
from collect.config.runners import AGENT_BLOCKS, RUNNERS, TRACE_FORMATS
from collect.config.select import takes, unknown_ids
from schemas.config.agent import WORKSPACE_FILES, Agent, placeholder
from schemas.config.command_agent import STDOUT, CommandAgent
from schemas.config.run_profile import AgentRunProfile, RunProfile
from schemas.config.suite import Suite, SuiteAgents
from schemas.errors import ConfigError, Problem, nearest
from schemas.io.validation import parse
from schemas.io.yaml import Source, printable, read_bytes, read_yaml

MAX_FILE_BYTES = 8_000_000
MAX_TOTAL_BYTES = 64_000_000
MAX_FILES = 2_000
MAX_DEPTH = 16

PROGRAM = "program"
"""The folder of a command agent's own files, beside agent.yaml."""


class WorkspaceEntry(NamedTuple):
    """One file that an agent's workspace starts with."""

    relative_path: str
    source: Literal["template", "placeholder"]
    sha256: str
    size_bytes: int


@dataclass
class _Walk:
    root: Path
    entries: list[WorkspaceEntry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    total: int = 0


def read_workspace(root: Path) -> tuple[tuple[WorkspaceEntry, ...], list[Problem]]:
    """Return a workspace's files, placeholders for the standard ones it lacks, and problems."""
    if root.is_symlink() or not root.is_dir():
        what = "an agent needs a `workspace` folder beside agent.yaml (not a link)"
        return (), [Problem(root, what)]
    entries, problems = read_folder(root)
    return _filled(entries), problems


def read_folder(root: Path) -> tuple[list[WorkspaceEntry], list[Problem]]:
    """Return the files of a folder that may be missing, sorted, and problems."""
    if root.is_symlink():
        return [], [Problem(root, "is a link; put the folder itself there")]
    walk = _Walk(root)
    if root.exists():
        _visit(root, walk, 1)
    return sorted(walk.entries), walk.problems


def _filled(entries: list[WorkspaceEntry]) -> tuple[WorkspaceEntry, ...]:
    """Return the entries with placeholders for the standard files that are missing, sorted."""
    there = {entry.relative_path for entry in entries}
    fill = [_entry(name, "placeholder", placeholder(name).encode()) for name in WORKSPACE_FILES]
    return tuple(sorted([*entries, *(entry for entry in fill if entry[0] not in there)]))


def _entry(name: str, source: Literal["template", "placeholder"], raw: bytes) -> WorkspaceEntry:
    return WorkspaceEntry(name, source, hashlib.sha256(raw).hexdigest(), len(raw))


def _visit(folder: Path, walk: _Walk, depth: int) -> None:
    """Add the files below a folder; links count as what they lead to, inside the workspace."""
    if depth > MAX_DEPTH:
        walk.problems.append(Problem(folder, f"lies deeper than {MAX_DEPTH} folders"))
        return
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208  # names are all that is wanted
    except OSError as exc:
        walk.problems.append(Problem(folder, f"cannot be read: {exc.strerror}"))
        return
    for name in names:
        if len(walk.entries) >= MAX_FILES or walk.total > MAX_TOTAL_BYTES:
            break
        path = folder / name
        if what := _refused(path, walk.root):
            shown = folder / printable(os.fsencode(name).decode(errors="replace"), 200)
            walk.problems.append(Problem(shown, what))
        elif path.is_dir():
            _visit(path, walk, depth + 1)
        else:
            _add(path, walk)


def _refused(path: Path, root: Path) -> str | None:
    """Return why a thing in a workspace cannot be copied into a trial, or None."""
    try:
        path.name.encode()
    except UnicodeEncodeError:
        return "has a name that is not UTF-8"
    if not path.is_symlink():
        return None
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return "is a link that leads nowhere"
    if not target.is_relative_to(root.resolve()):
        return "is a link that leaves the workspace"
    return "is a link to a folder; put the files there" if target.is_dir() else None


def _add(path: Path, walk: _Walk) -> None:
    try:
        raw = read_bytes(path, MAX_FILE_BYTES)
    except ConfigError as exc:
        walk.problems += exc.problems
        return
    walk.entries.append(_entry(path.relative_to(walk.root).as_posix(), "template", raw))
    walk.total += len(raw)
    if walk.total > MAX_TOTAL_BYTES:
        what = f"a workspace holds at most {MAX_TOTAL_BYTES:,} bytes"
        walk.problems.append(Problem(walk.root, what))
    elif len(walk.entries) >= MAX_FILES:
        what = f"a workspace holds fewer than {MAX_FILES:,} files"
        walk.problems.append(Problem(walk.root, what))


@dataclass(frozen=True)
class LoadedAgent:
    """An agent and its workspace by content."""

    agent: Agent
    path: Path
    sha256: str
    workspace: tuple[WorkspaceEntry, ...]
    """Sorted by path; what an OpenClaw agent's folder lacks is a placeholder."""
    program: tuple[WorkspaceEntry, ...] = ()
    """Of a command agent: the files that it finds, read-only, at `{program}`."""


def agent_folders(project: Path) -> dict[str, Path]:
    """Return the agents of a project: folder names, and their agent.yaml."""
    root = project / "configs" / "agents"
    return {path.parent.name: path for path in sorted(root.glob("*/agent.yaml"))}


def load_agent(agent_id: str, project: Path) -> LoadedAgent:
    """Load the agent in `configs/agents/<agent_id>` of a project.

    Raises:
        ConfigError: all problems of agent.yaml and the workspace.
    """
    known = agent_folders(project)
    if agent_id not in known:
        folder = project / "configs" / "agents"
        raise ConfigError([unknown(agent_id, "agent", folder, known)])
    return load_agent_file(known[agent_id])


def load_agent_file(path: Path) -> LoadedAgent:
    """Load an agent by its agent.yaml.

    Raises:
        ConfigError: all problems of agent.yaml and the workspace.
    """
    problems: list[Problem] = []
    agent = source = None
    try:
        source = read_yaml(path)
        agent = parse(Agent, source)
    except ConfigError as exc:
        problems += exc.problems
    folder = path.resolve().parent
    if agent is not None and source is not None and agent.agent_id != folder.name:
        advice = f"rename the folder or write `agent_id: {folder.name}`"
        what, found = "differs from its folder", f"`{agent.agent_id}`"
        problems.append(problem_at(source, ("agent_id",), what, found=found, advice=advice))
    program: tuple[WorkspaceEntry, ...] = ()
    if agent is None or agent.command is None:
        if source is not None and _has_command(source):
            raise ConfigError(problems)
        workspace, wrong = read_workspace(folder / "workspace")
    else:
        entries, wrong = read_folder(folder / "workspace")
        own, more_wrong = read_folder(folder / PROGRAM)
        workspace, program = tuple(entries), tuple(own)
        wrong += [*more_wrong, *_format_problems(agent.command, source)]
    problems += wrong
    if problems or agent is None or source is None:
        raise ConfigError(problems)
    return LoadedAgent(agent, path, source.sha256, workspace, program)


def _has_command(source: Source) -> bool:
    """Return whether an agent.yaml that may be wrong is one of an agent by configuration."""
    return isinstance(source.data, dict) and "command" in source.data


def _format_problems(command: CommandAgent, source: Source | None) -> list[Problem]:
    """Return what is wrong with the trace format of an agent's log."""
    logs = command.logs
    if logs is None or source is None:
        return []
    key = ("command", "logs", "format")
    if logs.format in TRACE_FORMATS:
        if not TRACE_FORMATS[logs.format].is_nameless_on_stdout or set(logs.paths) != {STDOUT}:
            return []
        what = "names no calls on stdout: beside what was seen on the wire each would count twice"
        advice = "name its session files in `paths`"
        return [problem_at(source, key, what, found=f"`{logs.format}`", advice=advice)]
    facts = {"allowed": str(TRACE_FORMATS), "nearest": nearest(logs.format, TRACE_FORMATS)}
    return [problem_at(source, key, "unknown value", found=f"`{logs.format}`", **facts)]


def agent_fingerprint(loaded: LoadedAgent) -> str:
    """Return a hash of what can change the agent's behaviour: fragments and workspace.

    Titles, tags and `openclaw.identity`, which is never written anywhere, are not in it.
    """
    files = [[one.relative_path, one.sha256, one.size_bytes] for one in loaded.workspace]
    if (command := loaded.agent.command) is not None:
        own = [[one.relative_path, one.sha256, one.size_bytes] for one in loaded.program]
        of_command = {"command": command.model_dump(mode="json"), "program": own}
        whole = {**of_command, "workspace": files}
        return hashlib.sha256(orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)).hexdigest()
    fragments = loaded.agent.openclaw.model_dump(mode="json", exclude={"identity"})
    # the id goes to openclaw's command line; without one it is the agent's own
    fragments["agent"] = {"id": loaded.agent.agent_id} | fragments["agent"]
    parts = {
        "openclaw": fragments,
        "workspace": files,
    }
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()


def assign_agents(
    suite: Suite,
    profile: RunProfile,
    cases: Sequence[LoadedCase],
    suite_source: Source,
    profile_source: Source,
) -> tuple[dict[str, str], list[Problem]]:
    """Return the agent of each case that has one, and what is wrong."""
    agents: dict[str, str] = {}
    problems: list[Problem] = []
    known = {case.case_id for case in cases}
    for block in AGENT_BLOCKS:
        written: SuiteAgents | None = getattr(suite, block)
        assignments = written.agent_assignments if written else ()
        for number, assignment in enumerate(assignments):
            at = (block, "agent_assignments", number, "case_selection")
            problems += unknown_ids(assignment.case_selection, known, suite_source, at)
        place: AgentRunProfile | None = getattr(profile, block)
        for case in cases:
            matches = [
                number
                for number, assignment in enumerate(assignments)
                if takes(assignment.case_selection, case.case_id, case.tags)
            ]
            if len(matches) > 1:
                key = (block, "agent_assignments", matches[1])
                names = " and ".join(f"`{assignments[number].agent_id}`" for number in matches[:2])
                what = f"case `{case.case_id}` matches two assignments: {names}"
                problems.append(problem_at(suite_source, key, what))
            if RUNNERS[case.runner_type].block != block:
                continue
            if place is None:
                kind = case.runner_type
                what = f"case `{case.case_id}` runs with {kind}, and the profile has no such block"
                problems.append(Problem(profile_source.path, what, block))
            else:
                first = assignments[matches[0]].agent_id if matches else place.agent_id
                agents[case.case_id] = first
    return agents, problems


def load_agents(
    agents: Mapping[str, str],
    cases: Iterable[LoadedCase],
    suite_source: Source,
    profile_source: Source,
) -> tuple[dict[str, LoadedAgent], list[Problem]]:
    """Return each agent that is needed, by agent_id, and what is wrong with them."""
    project = project_of(suite_source.path)
    loaded: dict[str, LoadedAgent] = {}
    problems: list[Problem] = []
    for agent_id in sorted(set(agents.values())):
        if project is None:
            what = f"agent `{agent_id}` is looked for under configs/agents, and there is no project"
            problems.append(Problem(profile_source.path, what))
            continue
        try:
            loaded[agent_id] = load_agent(agent_id, project)
        except ConfigError as exc:
            problems += exc.problems
    problems += _of_other_kinds(agents, cases, loaded)
    return loaded, problems


def _of_other_kinds(
    agents: Mapping[str, str], cases: Iterable[LoadedCase], loaded: Mapping[str, LoadedAgent]
) -> Iterator[Problem]:
    """Yield what is wrong with cases that another kind of agent would run, once for each agent."""
    reported_ids = set()
    for case in cases:
        agent_id = agents.get(case.case_id, "")
        if agent_id in reported_ids or (one := loaded.get(agent_id)) is None:
            continue
        kind, command = one.agent.kind, one.agent.command
        if kind != case.runner_type:
            what = f"is an agent of {kind}, and case `{case.case_id}` runs with {case.runner_type}"
            yield Problem(one.path, what, advice="name another agent_id, or another runner.type")
        elif command is not None and not command.next_argv and len(case.turns) > 1:
            what = f"has no `next_argv`, and case `{case.case_id}` has {len(case.turns)} turns"
            yield Problem(one.path, what, "command")
        else:
            continue
        reported_ids.add(agent_id)

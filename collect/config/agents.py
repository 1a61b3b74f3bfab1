"""Loads an OpenClaw agent: agent.yaml, and the workspace beside it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import orjson

from collect.config.project_files import unknown
from collect.config.workspace import WorkspaceEntry, read_workspace
from schemas.config.agent import Agent
from schemas.errors import ConfigError, Problem
from schemas.io.validation import parse
from schemas.io.yaml import read_yaml


@dataclass(frozen=True)
class LoadedAgent:
    """An agent and its workspace by content."""

    agent: Agent
    path: Path
    sha256: str
    workspace: tuple[WorkspaceEntry, ...]
    """Sorted by path; what agent.yaml's folder lacks is a placeholder."""


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
        what, line = "differs from its folder", source.line_of(("agent_id",))
        found = f"`{agent.agent_id}`"
        problems.append(Problem(path, what, "agent_id", line, found=found, advice=advice))
    workspace, wrong = read_workspace(folder / "workspace")
    problems += wrong
    if problems or agent is None or source is None:
        raise ConfigError(problems)
    return LoadedAgent(agent, path, source.sha256, workspace)


def agent_fingerprint(loaded: LoadedAgent) -> str:
    """Return a hash of what can change the agent's behaviour: fragments and workspace.

    Titles, tags and `openclaw.identity`, which is never written anywhere, are not in it.
    """
    fragments = loaded.agent.openclaw.model_dump(mode="json", exclude={"identity"})
    # the id goes to openclaw's command line; without one it is the agent's own
    fragments["agent"] = {"id": loaded.agent.agent_id} | fragments["agent"]
    parts = {
        "openclaw": fragments,
        "workspace": [
            [entry.relative_path, entry.sha256, entry.size_bytes] for entry in loaded.workspace
        ],
    }
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()

"""Where agents by configuration run: what they see of this machine, and the versions they say."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collect.config.agents import PROGRAM, LoadedAgent
from collect.runners.agents.inside import Inside
from collect.runners.agents.place import NOT_FOUND, AgentPlace
from collect.runners.agents.template import copy_program
from collect.sandbox.base import ENVIRONMENT, SandboxError
from schemas.config.run_profile import AgentRunProfile, CommandRunProfile

PROGRAM_INSIDE = "/opt/agent"
"""Where the folder with an agent's own program is bound."""

MAX_SAID_CHARS = 300


async def open_place(
    profile: AgentRunProfile,
    *,
    agents: Mapping[str, LoadedAgent],
    folder: Path | None = None,
    **shared: Any,
) -> AgentPlace:
    """Open the place of a run's agents by configuration; as `AgentPlace.open`.

    Raises:
        SandboxError: what the profile names of this machine is not there.
    """
    assert isinstance(profile, CommandRunProfile)
    found = _programs(profile)
    environment = (
        {"PATH": os.pathsep.join([*_path_of(found), ENVIRONMENT["PATH"]])} if found else {}
    )
    inside = Inside(binds=tuple((str(one), str(one)) for one in found), environment=environment)
    shows = [str(one) for one in found]
    programs = {}
    for agent_id, loaded in agents.items():
        if loaded.program:
            source = loaded.path.parent.absolute() / PROGRAM
            if folder is not None:
                source = copy_program(loaded, folder / f"{agent_id}.{PROGRAM}")
            programs[agent_id] = (str(source), PROGRAM_INSIDE)
            shows.append(str(source))
    place = await AgentPlace.open(
        profile, inside=inside, shows=shows, agents=agents, folder=folder, **shared
    )
    place.programs = programs
    return place


def _programs(profile: CommandRunProfile) -> list[Path]:
    """Return the files and folders of this machine that agents find.

    Raises:
        SandboxError: one of them is not there.
    """
    found = []
    for name in profile.programs:
        path = Path(name).expanduser()
        if not path.exists():
            message = f"`programs` of the profile names {name}, and nothing is there"
            raise SandboxError(message, "install it, or take it out of the run profile")
        found.append(path.absolute())
    return found


def _path_of(programs: list[Path]) -> list[str]:
    """Return the folders in which commands are looked for, before those of the system."""
    folders: list[str] = []
    for path in programs:
        inner = [path, path / "bin", path / ".bin"] if path.is_dir() else [path.parent]
        folders += [str(one) for one in inner if one.is_dir()]
    return list(dict.fromkeys(folders))


async def ask_versions(place: AgentPlace) -> dict[str, str | None]:
    """Return the version that each agent says where it runs; None: nobody knows how to ask it.

    Raises:
        SandboxError: one of them does not run there.
    """
    return {agent_id: await _version(place, agent_id) for agent_id in place.agents}


async def _version(place: AgentPlace, agent_id: str) -> str | None:
    command = place.agents[agent_id].agent.command
    assert command is not None
    argv = [
        word.replace("{program}", PROGRAM_INSIDE) for word in command.version or command.argv[:1]
    ]
    if not command.version:
        asked = ("/bin/sh", "-c", 'command -v "$1" >/dev/null || exit 127', "sh", argv[0])
        completed, _ = await place.look(asked, agent_id=agent_id)
        if completed.exit_code == NOT_FOUND:
            raise SandboxError(*_missing(place, agent_id, argv[0]))
        return None
    completed, printed = await place.look(argv, agent_id=agent_id)
    said = f"{printed.out}\n{printed.err}".strip()
    line = next((one.strip() for one in said.splitlines() if one.strip()), "")
    if completed.exit_code == NOT_FOUND:
        raise SandboxError(*_missing(place, agent_id, argv[0]))
    if completed.exit_code != 0 or not line:
        why = line or completed.stderr.data.decode("utf-8", "replace").strip()
        ended = f"exit code {completed.exit_code}, {completed.ended_by}"
        message = (
            f"agent `{agent_id}` does not say its version {place.where} by `{' '.join(argv)}` "
            f"({ended}): {why or 'nothing was printed'}"
        )
        raise SandboxError(message, "try it there by hand; `command.version` of agent.yaml is run")
    return line[:MAX_SAID_CHARS]


def _missing(place: AgentPlace, agent_id: str, name: str) -> tuple[str, str]:
    """Return that a command is not there, and what helps."""
    message = f"`{name}` of agent `{agent_id}` is not there {place.where}"
    if place.profile.executable == "container":
        return message, "add it to the image"
    if (found := shutil.which(name)) is not None:
        return message, f"name its folder in `agent.programs` of the run profile: it is {found}"
    return message, "install it, and name its folder in `agent.programs` of the run profile"

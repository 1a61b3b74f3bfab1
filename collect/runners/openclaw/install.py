"""OpenClaw where it is installed: the programs, and the version that it says itself."""

from __future__ import annotations

import shutil
from pathlib import Path

from collect.runners.agents.inside import Inside
from collect.runners.agents.place import NOT_FOUND, AgentPlace
from collect.runners.openclaw.command import ENVIRONMENT, problem_of, version_of
from collect.sandbox.base import SandboxError
from schemas.config.run_profile import AgentRunProfile

INSIDE = "/opt/benchlake-agent"
"""Where programs of this machine are bound."""

EMPTY_PACKAGE = "0.0.1"
"""What npm installs as openclaw where Node is too old for it."""

INSTALL = "npm install -g openclaw@VERSION, with Node 22.19 or newer"
BUILD = "python -m collect.runners.openclaw.image VERSION builds one"


def argv_of(profile: AgentRunProfile) -> tuple[str, ...]:
    """Return the words that start openclaw inside.

    Raises:
        SandboxError: node or openclaw is not installed here.
    """
    return ("openclaw",) if profile.executable == "container" else _installed()[0]


def inside_of(profile: AgentRunProfile) -> tuple[Inside, tuple[str, ...]]:
    """Return how openclaw's commands run inside, and what of this machine they have to see.

    Raises:
        SandboxError: node or openclaw is not installed here.
    """
    if profile.executable == "container":
        return Inside(environment=ENVIRONMENT), ()
    _, binds = _installed()
    return Inside(binds=binds, environment=ENVIRONMENT), tuple(here for here, _ in binds)


def _installed() -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the command line inside, and what is bound there of this machine."""
    found = {name: shutil.which(name) for name in ("node", "openclaw")}
    for name, path in found.items():
        if path is None:
            message = f"`{name}` is not on PATH, and the profile says `executable: local`"
            raise SandboxError(message, INSTALL)
    node, entry = (Path(path).resolve() for path in found.values() if path is not None)
    top = next((one for one in entry.parents if one.name == "node_modules"), entry.parent)
    inner = f"{INSIDE}/node_modules/{entry.relative_to(top)}"
    binds = ((str(node), f"{INSIDE}/node"), (str(top), f"{INSIDE}/node_modules"))
    return (binds[0][1], inner), binds


async def open_place(profile: AgentRunProfile, **shared: object) -> AgentPlace:
    """Open the place of a run's openclaw agents; arguments and errors as of `AgentPlace.open`."""
    inside, shows = inside_of(profile)
    return await AgentPlace.open(
        profile,
        inside=inside,
        shows=shows,
        forwarders=("node",),  # which openclaw itself runs on
        **shared,  # type: ignore[arg-type]
    )


async def ask_versions(place: AgentPlace) -> dict[str, str]:
    """Return the version that openclaw says where it runs, for each of its agents.

    Raises:
        SandboxError: it does not run there, or is the empty package.
    """
    return dict.fromkeys(place.agents, await ask_version(place))


async def ask_version(place: AgentPlace) -> str:
    """Return the version that openclaw says where it runs; raises SandboxError."""
    completed, printed = await place.look((*argv_of(place.profile), "--version"), "version")
    advice = INSTALL if place.profile.executable == "local" else BUILD
    if (version := version_of(printed.out)) and completed.exit_code == 0:
        return version
    if EMPTY_PACKAGE in printed.out:
        message = f"openclaw {place.where} is {EMPTY_PACKAGE}, the empty package for an old Node"
        raise SandboxError(message, advice)
    said = completed.stderr.data.decode("utf-8", "replace").strip() or problem_of(printed)
    if completed.exit_code == NOT_FOUND:
        message = f"node or openclaw is not there {place.where}: {said or 'not found'}"
        raise SandboxError(message, advice)
    why = f"ended by {completed.ended_by}" if completed.ended_by != "exit" else ""
    text = said or why or f"exit code {completed.exit_code}"
    message = f"openclaw does not say its version {place.where}: {text}"
    raise SandboxError(message, advice)

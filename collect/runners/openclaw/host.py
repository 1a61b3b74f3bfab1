"""Where the openclaw trials of a run are made: its sandbox, its agents, and the version as it runs.

A container is given no key, no network but what the profile says, and an empty home; `local` runs
the command that is installed here, locked in by bwrap in the same way.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from collect.config.agents import LoadedAgent
from collect.config.models import MAX_IN_FLIGHT
from collect.runners.openclaw.command import NOT_FOUND, Programs, read_printed, version_of
from collect.runners.openclaw.template import Template, make_template
from collect.sandbox.base import Backend, SandboxError
from collect.sandbox.bwrap import Bwrap
from collect.sandbox.client import Sandbox
from collect.sandbox.engine import Engine
from schemas.config.run_profile import OpenClawRunProfile
from schemas.config.sandbox import SandboxProfile

PROBE_TIMEOUT_S = 60.0
"""How long openclaw may take to say its version; node reads hundreds of files for it."""

INSIDE = "/opt/benchlake-agent"
"""Where programs of this machine are bound."""

EMPTY_PACKAGE = "0.0.1"
"""What npm installs as openclaw where Node is too old for it."""

INSTALL = "npm install -g openclaw@VERSION, with Node 22.19 or newer"
BUILD = "python -m collect.runners.openclaw.image VERSION builds one"


@dataclass
class OpenClawHost:
    """What all trials share; opened once a run."""

    profile: OpenClawRunProfile
    sandbox: Sandbox
    programs: Programs
    agents: Mapping[str, LoadedAgent] = field(default_factory=dict)
    assignments: Mapping[str, str] = field(default_factory=dict)
    """case_id to agent_id."""
    version: str = ""
    templates: dict[str, Template] = field(default_factory=dict)
    checked: dict[str, asyncio.Future[str]] = field(default_factory=dict)
    """Hash of a configuration to what openclaw says against it; empty: nothing."""
    _opened: AsyncExitStack = field(default_factory=AsyncExitStack)

    @classmethod
    async def open(
        cls,
        profile: OpenClawRunProfile,
        agents: Mapping[str, LoadedAgent],
        assignments: Mapping[str, str],
        version: str,
        folder: Path | None = None,
    ) -> OpenClawHost:
        """Open the place.

        Args:
            profile: how openclaw runs.
            agents: by agent_id.
            assignments: case_id to agent_id.
            version: that openclaw said; empty: it is to be asked.
            folder: for the workspaces that agents begin with; None: there are no agents.

        Raises:
            SandboxError: nothing can be locked in here, or there is no such image.
            ConfigError: an agent's workspace is not what it was.
        """
        programs, shows = _programs(profile)
        backend = _backend(profile)
        limits = profile.limits.model_copy(update={"cores": None})
        async with AsyncExitStack() as stack:
            sandbox = await Sandbox.open(
                SandboxProfile(limits=limits), backend, shows, slots=MAX_IN_FLIGHT
            )
            stack.push_async_callback(sandbox.aclose)
            host = cls(profile, sandbox, programs, agents, assignments, version)
            for agent_id, loaded in agents.items():
                assert folder is not None
                host.templates[agent_id] = await asyncio.to_thread(
                    make_template, loaded, folder / agent_id
                )
            host._opened = stack.pop_all()
            return host

    async def aclose(self) -> None:
        """Take the place away, with all that runs in it."""
        await self._opened.aclose()

    async def ask_version(self) -> str:
        """Return the version that openclaw says where it runs.

        Raises:
            SandboxError: it does not run there, or is the empty package.
        """
        folders = await self.sandbox.folders()
        command = self.programs.command(("--version",), name="version", timeout_s=PROBE_TIMEOUT_S)
        try:
            completed = await self.sandbox.run(folders, command)
            printed = read_printed(folders.tmp, "version")
        finally:
            await self.sandbox.remove(folders)
        is_local = self.profile.executable == "local"
        where = "here" if is_local else f"in {self.profile.image}"
        advice = INSTALL if is_local else BUILD
        if (version := version_of(printed.out)) and completed.exit_code == 0:
            return version
        if EMPTY_PACKAGE in printed.out:
            message = f"openclaw {where} is {EMPTY_PACKAGE}, the empty package for an old Node"
            raise SandboxError(message, advice)
        said = completed.stderr.data.decode("utf-8", "replace").strip()
        if completed.exit_code == NOT_FOUND:
            message = f"node or openclaw is not there {where}: {said or 'not found'}"
            raise SandboxError(message, advice)
        why = f"ended by {completed.ended_by}" if completed.ended_by != "exit" else ""
        text = printed.problem or said or why or f"exit code {completed.exit_code}"
        message = f"openclaw does not say its version {where}: {text}"
        raise SandboxError(message, advice)

    @property
    def image_digest(self) -> str | None:
        """The digest of the image; None: there is none."""
        return self.sandbox.backend.image_digest()


def _backend(profile: OpenClawRunProfile) -> Backend:
    if profile.executable == "local":
        return Bwrap(profile.limits)
    assert profile.image is not None
    network = "host" if profile.network == "host" else None
    return Engine(profile.docker_cli, profile.image, profile.limits, network)


def _programs(profile: OpenClawRunProfile) -> tuple[Programs, tuple[str, ...]]:
    """Return the programs inside, and the folders here that must be seen for them.

    Raises:
        SandboxError: node or openclaw is not installed here.
    """
    if profile.executable == "container":
        return Programs(), ()
    found = {name: shutil.which(name) for name in ("node", "openclaw")}
    for name, path in found.items():
        if path is None:
            message = f"`{name}` is not on PATH, and the profile says `executable: local`"
            raise SandboxError(message, INSTALL)
    node, entry = (Path(path).resolve() for path in found.values() if path is not None)
    top = next((one for one in entry.parents if one.name == "node_modules"), entry.parent)
    inner = f"{INSIDE}/node_modules/{entry.relative_to(top)}"
    binds = ((str(node), f"{INSIDE}/node"), (str(top), f"{INSIDE}/node_modules"))
    return Programs(binds[0][1], (binds[0][1], inner), binds), (str(node), str(top))

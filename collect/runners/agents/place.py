"""Where the agents of a run are at home: one sandbox, their workspaces, the versions that run.

A container is given no key, no network but what the profile says, and an empty home; `local` runs
what is installed here, locked in by bwrap in the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from collect.config.agents import LoadedAgent
from collect.config.models import MAX_IN_FLIGHT
from collect.runners.agents.inside import FORWARDERS, Inside, Printed, read_printed
from collect.runners.agents.template import Template, make_template
from collect.sandbox.base import Backend, Command, Completed, SandboxError
from collect.sandbox.bwrap import Bwrap
from collect.sandbox.client import Sandbox
from collect.sandbox.engine import Engine
from schemas.config.run_profile import AgentRunProfile
from schemas.config.sandbox import SandboxProfile

PROBE_TIMEOUT_S = 60.0
"""How long an agent may take to say its version; node reads hundreds of files for it."""

RESERVED_MB = 8_000
"""Of addresses: Node reserves hundreds of megabytes for each of its threads. What is written to
counts against the limit all the same, as often as it is looked at."""

NOT_FOUND = 127
"""Exit code of a command that is not there."""


@dataclass
class AgentPlace:
    """What all trials of one kind of agent share; opened once a run."""

    profile: AgentRunProfile
    sandbox: Sandbox
    inside: Inside
    agents: Mapping[str, LoadedAgent] = field(default_factory=dict)
    assignments: Mapping[str, str] = field(default_factory=dict)
    """case_id to agent_id."""
    versions: Mapping[str, str | None] = field(default_factory=dict)
    """By agent_id, as each says itself where it runs."""
    templates: dict[str, Template] = field(default_factory=dict)
    programs: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Folders of this machine by agent_id, and where each agent finds its own."""
    checked: dict[str, asyncio.Future[str]] = field(default_factory=dict)
    """Hash of a configuration to what its agent says against it; empty: nothing."""
    _opened: AsyncExitStack = field(default_factory=AsyncExitStack)

    @classmethod
    async def open(
        cls,
        profile: AgentRunProfile,
        *,
        inside: Inside,
        shows: Sequence[str] = (),
        forwarders: Sequence[str] = tuple(FORWARDERS),
        agents: Mapping[str, LoadedAgent] | None = None,
        assignments: Mapping[str, str] | None = None,
        versions: Mapping[str, str | None] | None = None,
        folder: Path | None = None,
    ) -> AgentPlace:
        """Open the place.

        Args:
            profile: how its agents run.
            inside: what is bound and set for each command.
            shows: files and folders here that must be seen for it, in a folder of root's too.
            forwarders: programs of which an image has to have one, by `FORWARDERS`.
            agents: by agent_id.
            assignments: case_id to agent_id.
            versions: that the agents said; None: they are to be asked.
            folder: for the workspaces that agents begin with; None: no trial is made.

        Raises:
            SandboxError: nothing can be locked in here, or there is no such image.
            ConfigError: an agent's workspace is not what it was.
        """
        backend = _backend(profile)
        limits = profile.limits.model_copy(update={"cores": None})
        async with AsyncExitStack() as stack:
            sandbox = await Sandbox.open(
                SandboxProfile(limits=limits), backend, shows, slots=MAX_IN_FLIGHT
            )
            stack.push_async_callback(sandbox.aclose)
            known = agents or {}
            place = cls(profile, sandbox, inside, known, assignments or {}, versions or {})
            place.inside = await place._with_way(forwarders)
            if folder is not None:
                for agent_id, loaded in known.items():
                    place.templates[agent_id] = await asyncio.to_thread(
                        make_template, loaded, folder / agent_id
                    )
            place._opened = stack.pop_all()
            return place

    async def aclose(self) -> None:
        """Take the place away, with all that runs in it."""
        await self._opened.aclose()

    async def look(
        self, argv: Sequence[str], name: str = "look", agent_id: str | None = None
    ) -> tuple[Completed, Printed]:
        """Run a command that asks no model, and return what came of it; raises SandboxError."""
        folders = await self.sandbox.folders()
        binds = [self.programs[agent_id]] if agent_id in self.programs else []
        try:
            command = self.inside.command(argv, name=name, timeout_s=PROBE_TIMEOUT_S, binds=binds)
            completed = await self.sandbox.run(folders, command)
            return completed, read_printed(folders.tmp, name)
        finally:
            await self.sandbox.remove(folders)

    @property
    def image_digest(self) -> str | None:
        """The digest of the image; None: there is none."""
        return self.sandbox.backend.image_digest()

    @property
    def where(self) -> str:
        """Where agents run, for messages."""
        return "here" if self.profile.executable == "local" else f"in {self.profile.image}"

    async def _with_way(self, forwarders: Sequence[str]) -> Inside:
        """Return how commands reach the model.

        Raises:
            SandboxError: nothing in the image can carry requests.
        """
        if self.profile.network == "host":
            return replace(self.inside, way="port")
        if self.profile.executable == "local":
            return replace(self.inside, way="listener")
        names = list(forwarders)
        if len(names) > 1:
            asked = " || ".join(f"command -v {name}" for name in names)
            found = await self._look_for(("/bin/sh", "-c", asked))
            names = [found.rpartition("/")[2]] if found else []
        if not names:
            message = f"{self.profile.image} has none of {', '.join(forwarders)} to carry requests"
            raise SandboxError(message, "add one to the image, or say `network: host`")
        return replace(self.inside, way="socket", forwarder=FORWARDERS[names[0]])

    async def _look_for(self, argv: tuple[str, ...]) -> str:
        folders = await self.sandbox.folders()
        try:
            command = Command(argv=argv, timeout_s=PROBE_TIMEOUT_S)
            completed = await self.sandbox.run(folders, command)
        finally:
            await self.sandbox.remove(folders)
        return completed.stdout.data.decode("utf-8", "replace").strip()


def _backend(profile: AgentRunProfile) -> Backend:
    if profile.executable == "local":
        return Bwrap(profile.limits, RESERVED_MB)
    assert profile.image is not None
    network = "host" if profile.network == "host" else None
    return Engine(profile.docker_cli, profile.image, profile.limits, network)

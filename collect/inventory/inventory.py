"""What a run is made with: machine, versions, local models, configs, which keys are there.

All queries start at once, and the first request waits for them only briefly: slower ones, such as
the version of a CLI that no model of the run uses, finish during the first trials and complete
inventory.json.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self, TypeGuard

import psutil

from collect.config import RunInputs
from collect.inventory.git import OLLAMA_STORE, Output, config_commit, output_of
from collect.inventory.model_builds import Builds, served_models
from schemas.errors import CollectError
from schemas.io.files import write_chunks
from schemas.redact import key_names, redact
from schemas.run.inventory import (
    CommandError,
    ConfigCommit,
    Host,
    Inventory,
    OllamaModel,
    ServedModel,
)

PACKAGES = ("benchlake", "httpx", "pydantic", "orjson", "regex", "pyarrow", "duckdb", "xllamacpp")

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "list": ("ollama", "list"),
    "ps": ("ollama", "ps"),
    "store": ("du", "-sh", OLLAMA_STORE),
}
VERSIONS: Mapping[str, tuple[str, ...]] = {
    "ollama": ("ollama", "--version"),
    "claude": ("claude", "--version"),
    "openclaw": ("openclaw", "--version"),
    "node": ("node", "--version"),
    "git": ("git", "--version"),
    "docker": ("docker", "--version"),
    "docker_server": ("docker", "version", "--format", "{{.Server.Version}}"),
    "podman": ("podman", "--version"),
}
VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")

QUICK_S = 0.02
"""How long the first request waits for all of them together; the rest completes the file."""

LAST_S = 1.0
"""How long the end of a run waits for what is still open."""

COMMAND_TIMEOUT_S = 30.0
"""Of one command: a store of models may lie on a slow disk."""

NICENESS = 10
"""What is asked for the record stands back for the trials."""

LATE = Output("", "no answer before the first request")
LATE_ERROR = CommandError(error=LATE.error or "")


class Stocktaking:
    """Asks for everything when it is entered; leaves nothing running behind."""

    def __init__(self, inputs: RunInputs) -> None:
        self._inputs = inputs
        self._created_at = datetime.now(tz=UTC)
        self._known: dict[str, Output] = {}
        self._commands: dict[str, asyncio.Task[Output]] = {}
        self._commit: asyncio.Task[ConfigCommit | CommandError | None] | None = None
        self._served: asyncio.Task[tuple[ServedModel, ...]] | None = None
        self._completing: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        """Begin to ask; a CLI that a model uses is asked elsewhere, since the plan needs it."""
        used = {model.executable for model in self._inputs.models}
        self._commands = {
            name: asyncio.create_task(
                output_of(*command, timeout_s=COMMAND_TIMEOUT_S, niceness=NICENESS)
            )
            for name, command in (*COMMANDS.items(), *VERSIONS.items())
            if command[-1] != "--version" or command[0] not in used
        }
        self._commit = asyncio.create_task(config_commit(self._inputs))
        return self

    async def first(self, builds: Builds) -> Inventory:
        """Return what is known within a moment; what is not says so."""
        self._known = {name: builds.versions[name] for name in VERSIONS if name in builds.versions}
        self._served = asyncio.create_task(served_models(self._inputs.models, builds))
        await asyncio.wait(self._open(), timeout=QUICK_S)
        return self._inventory("")

    def complete_in(self, run_dir: Path) -> None:
        """Write a run's inventory.json again once the rest is known."""
        if self._open():
            self._completing.append(asyncio.create_task(self._complete(run_dir)))

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Give what is still open a moment, unless something went wrong, and end it."""
        if kind is None and self._completing:
            await asyncio.wait(self._completing, timeout=LAST_S)
        tasks = self._open()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for completing in self._completing:
            await completing

    def _open(self) -> list[asyncio.Task[Any]]:
        every: list[asyncio.Task[Any] | None]
        every = [*self._commands.values(), self._commit, self._served]
        return [task for task in every if task is not None and not task.done()]

    async def _complete(self, run_dir: Path) -> None:
        await asyncio.gather(*self._open(), return_exceptions=True)
        content = self._inventory(run_dir.name).model_dump_json(indent=2).encode() + b"\n"
        path = run_dir / "inventory.json"
        with contextlib.suppress(CollectError):  # the first one stays, and the run says more
            await asyncio.to_thread(write_chunks, path, [content], "")

    def _inventory(self, run_id: str) -> Inventory:
        memory = psutil.virtual_memory()
        models = self._output("list")
        return Inventory(
            run_id=run_id,
            created_at=self._created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            host=Host(
                uname=" ".join(platform.uname()),
                python=sys.version,
                cpu_count=os.cpu_count() or 1,
                memory_bytes=memory.total,
            ),
            packages={
                name: found for name in PACKAGES if (found := installed_version(name)) is not None
            },
            sandbox=self._inputs.sandbox_version,
            ollama_list=_printed_text(models),
            ollama_models=tuple(_ollama_models(models.text)),
            ollama_store_du=_printed_text(self._output("store")),
            claude_version=_printed_text(self._output("claude")),
            keys_present=key_names(),
            ollama_ps=_printed_text(self._output("ps")),
            versions={name: _number(self._output(name)) for name in VERSIONS},
            agents={
                agent_id: place.version_of(agent_id)
                for place in (self._inputs.openclaw, self._inputs.agent)
                if place is not None
                for agent_id in place.agents
            },
            served_models=self._served.result() if _is_done(self._served) else (),
            config_commit=self._commit.result() if _is_done(self._commit) else LATE_ERROR,
        )

    def _output(self, name: str) -> Output:
        """Return what a command said as far as it is known."""
        if name in self._known:
            return self._known[name]
        task = self._commands.get(name)
        return task.result() if _is_done(task) else LATE


def _is_done(task: asyncio.Task[Any] | None) -> TypeGuard[asyncio.Task[Any]]:
    return task is not None and task.done() and not task.cancelled()


def installed_version(package: str) -> str | None:
    """Return the version of an installed package; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _printed_text(output: Output) -> str | CommandError:
    """Return what a command printed, whole."""
    if output.error is not None:
        return CommandError(error=redact(output.error))
    return redact(output.text.rstrip())


def _number(output: Output) -> str | CommandError:
    """Return the version in what a command printed: the first number with a point in it."""
    if output.error is not None:
        return CommandError(error=redact(output.error))
    match = VERSION.search(output.text)
    return match[0] if match else redact(output.first_line or "")


def _ollama_models(text: str) -> list[OllamaModel]:
    """Return name and size of each line: NAME, ID, SIZE with its unit, MODIFIED."""
    rows = [line.split() for line in text.splitlines()[1:]]
    return [OllamaModel(name=row[0], size=" ".join(row[2:4])) for row in rows if len(row) > 3]

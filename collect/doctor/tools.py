"""Checks of commands, containers and sandboxes: which are there, do they run, who needs them?

A container client without an engine that answers it is usual, and no failure by itself; what a run
profile says of containers is looked at in `openclaw`. Whether a command is locked in on this
machine is found out by a command that tries to break out.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from dataclasses import dataclass

from collect.config.tools import needs_sandbox
from collect.doctor.context import Details, Finding, Scene, and_more
from collect.inventory.git import output_of
from collect.sandbox.bwrap import INSTALL, Bwrap
from collect.sandbox.engine_trouble import (
    NO_LIMITS,
    RUNC,
    advice,
    last_line,
    needs_runc,
    runtime_of,
)
from collect.sandbox.probe import probe
from schemas.config.sandbox import DEFAULT_SANDBOX
from schemas.output.doctor import State

TOOL_TIMEOUT_S = 8.0
CLAUDE = "npm install -g @anthropic-ai/claude-code"
NUMBER = re.compile(r"\d+(?:\.\d+)+")

CONTAINER_TIMEOUT_S = 9.0

QUERIES = {
    "docker": ("info", "--format", "{{.ServerVersion}}"),
    "podman": (
        *("info", "--format"),
        "{{.Version.Version}} {{.Host.OCIRuntime.Name}} {{.Host.CgroupControllers}}",
    ),
}

NEEDED_FOR = "for the tools exec_shell, read_file and write_file"
"""Who may need a sandbox, where no case here does."""


@dataclass(frozen=True)
class Tool:
    """A command that is useful without being needed by every suite."""

    name: str
    used_for: str
    install: str | None


TOOLS = (
    Tool("git", "versions of a project's files", "apt-get install git, or brew install git"),
    Tool("ollama", "models of a local Ollama", "https://ollama.com/download"),
    Tool(
        "openclaw",
        "openclaw cases outside of a container; an image brings its own",
        "npm install -g openclaw@2026.5.28, on Node 22.19 or newer",
    ),
    Tool("node", "the commands `claude` and `openclaw`", "https://nodejs.org"),
)

PLACEHOLDER = "0.0.1"
EMPTY = f"{PLACEHOLDER} is an empty package that npm chooses on an old Node"

OLD_NODE = "is required (current"
"""Words in which openclaw says that its Node is too old."""

OLDEST_NODE = (22, 19)
"""What openclaw runs on; npm installs an empty package of that name on older ones."""


async def check_commands(scene: Scene) -> list[Finding]:
    """Return a finding for each command, those of the suites first."""
    users: dict[str, list[str]] = {}
    for name, model in scene.models():
        if model.executable is not None:
            users.setdefault(model.executable, []).append(name)
    asked = [_needed(executable, names) for executable, names in users.items()]
    if not users:
        asked.append(_tool(Tool("claude", "provider `claude_code_cli`", CLAUDE)))
    return list(await asyncio.gather(*asked, *(_tool(tool) for tool in TOOLS)))


async def _needed(executable: str, names: list[str]) -> Finding:
    """Return whether the command of some models is there and runs."""
    where = shutil.which(executable)
    who = f"needed by {and_more(names)}"
    if where is None:
        text = f"is not on PATH, or not executable; {who}"
        advice = CLAUDE if executable == "claude" else "correct `executable`, or chmod +x it"
        return Finding(executable, "fail", text, advice)
    out = await output_of(where, "--version", timeout_s=TOOL_TIMEOUT_S)
    if out.error is not None:
        text = f"{where} does not run: {_first(out.error)}; {who}"
        return Finding(executable, "fail", text, f"try it: {where} --version")
    details: Details = {"path": where, "version": _first(out.text)}
    text = f"{_first(out.text)} at {where}; {who}"
    return Finding(executable, "ok", text, details=details)


async def _tool(tool: Tool) -> Finding:
    where = shutil.which(tool.name)
    if where is None:
        text = f"not installed; for {tool.used_for}"
        return Finding(tool.name, "skip", text, tool.install)
    out = await output_of(where, "--version", timeout_s=TOOL_TIMEOUT_S)
    version = _first(out.text) or _first(out.error or "")
    details: Details = {"path": where, "version": version}
    odd = _oddity(tool, version)
    if odd is None and out.error is not None and not NUMBER.search(version):
        odd = f"does not run: {version}", f"try it: {where} --version"
    if odd is not None:
        return Finding(tool.name, "warn", odd[0], odd[1], details=details)
    return Finding(tool.name, "ok", f"{version} at {where}", details=details)


def _oddity(tool: Tool, version: str) -> tuple[str, str] | None:
    """Return what is wrong with a version that runs, and what to do."""
    number = NUMBER.search(version)
    if number is None:
        return None
    if tool.name == "openclaw" and number.group() == PLACEHOLDER:
        return EMPTY, "install Node 24, then npm install -g openclaw again"
    if tool.name == "openclaw" and OLD_NODE in version:
        return f"does not run: {version}", "install Node 24, or put one before it on PATH"
    if tool.name == "node" and tuple(map(int, number.group().split(".")))[:2] < OLDEST_NODE:
        if shutil.which("openclaw") is None:
            return None
        oldest = ".".join(map(str, OLDEST_NODE))
        return f"{version} is too old for openclaw, which needs {oldest}", "install Node 24"
    return None


def _first(text: str) -> str:
    """Return the first line that a command printed, warnings aside."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if not line.lower().startswith("warning")), "")


async def check_containers(_scene: Scene) -> list[Finding]:
    """Return a finding for each client that is there, or that there is none."""
    there = [client for client in QUERIES if shutil.which(client)]
    if not there:
        text = "neither docker nor podman; a sandbox of a run profile may name one"
        return [Finding("–", "skip", text, "apt-get install podman runc")]
    return list(await asyncio.gather(*(_client(client) for client in there)))


async def _client(client: str) -> Finding:
    out = await output_of(client, *QUERIES[client], timeout_s=CONTAINER_TIMEOUT_S)
    where = str(shutil.which(client))
    said, _, able = " ".join(out.text.split()).partition(" [")
    if out.error is not None or not said:
        error = out.error or "no version"
        text = f"client at {where}, but no engine answers it: {last_line(error)}"
        return Finding(client, "warn", text, advice(client, error), details={"error": error})
    details: Details = {"path": where, "version": said}
    if able and (missing := {"memory", "pids"} - set(able.strip("]").split())):
        text = f"engine {said} answers, but cannot limit {' and '.join(sorted(missing))}"
        return Finding(client, "warn", text, NO_LIMITS, details=details)
    if client == "podman" and said.endswith("crun") and needs_runc() and not runtime_of(client):
        text = f"{said}: crun refuses the mixed control groups of this machine"
        return Finding(client, "warn", text, RUNC, details=details)
    return Finding(client, "ok", f"engine {said} answers", details=details)


async def check_sandbox(scene: Scene) -> list[Finding]:
    """Return what came of trying to break out; a failure only where a case needs a sandbox."""
    users = [case.case_id for suite in scene.suites for case in suite.cases if needs_sandbox(case)]
    return [await _bubblewrap(users)]


async def _bubblewrap(users: list[str]) -> Finding:
    needed = f"needed by {and_more(users)}" if users else NEEDED_FOR
    backend = Bwrap(DEFAULT_SANDBOX.limits)
    if backend.path is None and sys.platform == "linux":
        state: State = "fail" if users else "skip"
        return Finding("bubblewrap", state, f"not installed; {needed}", INSTALL)
    holds = await probe(DEFAULT_SANDBOX, backend)
    details: Details = {"path": backend.path or "", "version": holds.version}
    if holds.problem is None:
        text = f"{holds.version} at {backend.path} locked a command in; {needed}"
        return Finding("bubblewrap", "ok", text, details=details)
    if sys.platform != "linux":
        state = "fail" if users else "skip"
        return Finding("bubblewrap", state, f"{holds.problem}; {needed}", holds.advice)
    text = f"cannot lock a command in: {holds.problem}; {needed}"
    details |= {"error": holds.problem}
    state = "fail" if users else "warn"
    return Finding("bubblewrap", state, text, holds.advice, details=details)

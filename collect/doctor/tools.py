"""Which commands are there, do they run, and who needs them?"""

from __future__ import annotations

import asyncio
import re
import shutil
from dataclasses import dataclass

from collect.doctor.context import Scene, and_more
from collect.doctor.findings import Details, found
from collect.inventory.subprocesses import output_of
from schemas.output.doctor import DoctorCheck

LIMIT_S = 8.0
CLAUDE = "npm install -g @anthropic-ai/claude-code"
NUMBER = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True)
class Tool:
    """A command that is useful without being needed by every suite."""

    name: str
    used_for: str
    install: str | None


TOOLS = (
    Tool("git", "versions of a project's files", "apt-get install git, or brew install git"),
    Tool("ollama", "models of a local Ollama", "https://ollama.com/download"),
    Tool("openclaw", "agent cases, which this version does not run", None),
    Tool("node", "the commands `claude` and `openclaw`", "https://nodejs.org"),
)

OLDEST_NODE = (22, 19)
"""What openclaw runs on; npm installs an empty package of that name on older ones."""


async def check_commands(scene: Scene) -> list[DoctorCheck]:
    """Return a finding for each command, those of the suites first."""
    users: dict[str, list[str]] = {}
    for name, model in scene.models():
        if model.executable is not None:
            users.setdefault(model.executable, []).append(name)
    asked = [_needed(executable, names) for executable, names in users.items()]
    if not users:
        asked.append(_tool(Tool("claude", "provider `claude_code_cli`", CLAUDE)))
    return list(await asyncio.gather(*asked, *(_tool(tool) for tool in TOOLS)))


async def _needed(executable: str, names: list[str]) -> DoctorCheck:
    """Return whether the command of some models is there and runs."""
    where = shutil.which(executable)
    who = f"needed by {and_more(names)}"
    if where is None:
        text = f"is not on PATH, or not executable; {who}"
        advice = CLAUDE if executable == "claude" else "correct `executable`, or chmod +x it"
        return found("commands", executable, "fail", text, advice)
    out = await output_of(where, "--version", timeout_s=LIMIT_S)
    if out.error is not None:
        text = f"{where} does not run: {_first(out.error)}; {who}"
        return found("commands", executable, "fail", text, f"try it: {where} --version")
    details: Details = {"path": where, "version": _first(out.text)}
    text = f"{_first(out.text)} at {where}; {who}"
    return found("commands", executable, "ok", text, details=details)


async def _tool(tool: Tool) -> DoctorCheck:
    where = shutil.which(tool.name)
    if where is None:
        text = f"not installed; for {tool.used_for}"
        return found("commands", tool.name, "skip", text, tool.install)
    out = await output_of(where, "--version", timeout_s=LIMIT_S)
    version = _first(out.text) or _first(out.error or "")
    details: Details = {"path": where, "version": version}
    odd = _oddity(tool, version)
    if odd is None and out.error is not None and not NUMBER.search(version):
        odd = f"does not run: {version}", f"try it: {where} --version"
    if odd is not None:
        return found("commands", tool.name, "warn", odd[0], odd[1], details=details)
    return found("commands", tool.name, "ok", f"{version} at {where}", details=details)


def _oddity(tool: Tool, version: str) -> tuple[str, str] | None:
    """Return what is wrong with a version that runs, and what to do."""
    number = NUMBER.search(version)
    if number is None:
        return None
    if tool.name == "openclaw" and number.group() == "0.0.1":
        text = "0.0.1 is an empty package that npm chooses on an old Node"
        return text, "install Node 24, then npm install -g openclaw again"
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

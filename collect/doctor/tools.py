"""Checks of commands, containers and sandboxes: which are there, do they run, who needs them?

A container client without an engine that answers it is usual; nothing of this version runs in a
container, so nothing of that fails. Whether a command can be locked in on this machine is found out
by doing it.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import resource
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from collect.doctor.context import Details, Finding, Scene, and_more
from collect.inventory.git import output_of

TOOL_TIMEOUT_S = 8.0
CLAUDE = "npm install -g @anthropic-ai/claude-code"
NUMBER = re.compile(r"\d+(?:\.\d+)+")

CONTAINER_TIMEOUT_S = 9.0

HYBRID = Path("/sys/fs/cgroup/unified")
"""There where the old and the new kind of control groups are mixed, which crun refuses."""

PODMAN_FILES = 1_048_576
"""Open files that podman asks for as root."""

QUERIES = {
    "docker": ("info", "--format", "{{.ServerVersion}}"),
    "podman": ("info", "--format", "{{.Version.Version}} {{.Host.OCIRuntime.Name}}"),
}

SYSCTL = Path("/proc/sys")
SANDBOX_TIMEOUT_S = 4.0

NAMESPACES = ("--unshare-all", "--die-with-parent", "--new-session", "--clearenv")
MOUNTS = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")

REFUSALS = (
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor refuses user namespaces",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give bwrap a profile: "
        "sudo apt-get install apparmor-profiles, then sudo ln -s "
        "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ and "
        "sudo systemctl reload apparmor",
    ),
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "the kernel refuses user namespaces to all but root",
        "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "user/max_user_namespaces",
        "0",
        "the kernel allows no user namespace",
        "sudo sysctl -w user.max_user_namespaces=15000",
    ),
)
"""A switch of the kernel, its value that is in the way, what that means, and what to do."""

LANDLOCK_CREATE_RULESET = 444
"""The same number on every architecture; with flag 1 and no rules it returns the version."""


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


async def check_containers(_scene: Scene) -> list[Finding]:
    """Return a finding for each client that is there, or that there is none."""
    there = [client for client in QUERIES if shutil.which(client)]
    if not there:
        text = "neither docker nor podman; nothing of this version needs a container"
        return [Finding("–", "skip", text, "apt-get install podman runc")]
    return list(await asyncio.gather(*(_client(client) for client in there)))


async def _client(client: str) -> Finding:
    out = await output_of(client, *QUERIES[client], timeout_s=CONTAINER_TIMEOUT_S)
    where = str(shutil.which(client))
    said = " ".join(out.text.split())
    if out.error is not None or not said:
        error = out.error or "no version"
        text = f"client at {where}, but no engine answers it: {_last_line(error)}"
        return Finding(client, "warn", text, _advice(client, error), details={"error": error})
    details: Details = {"path": where, "version": said}
    if client == "podman" and (odd := _podman_oddity(said)):
        return Finding(client, "warn", f"{said}: {odd[0]}", odd[1], details=details)
    return Finding(client, "ok", f"engine {said} answers", details=details)


def _advice(client: str, error: str) -> str:
    low = error.lower()
    if "permission denied" in low:
        return "sudo usermod -aG docker $USER, then log in again"
    if client == "podman":
        return "podman info says more; without it nothing needs podman"
    if os.environ.get("DOCKER_HOST"):
        return "DOCKER_HOST is set: does it name the right address?"
    if sys.platform == "darwin":
        return "start Docker Desktop, or podman machine start"
    return "sudo systemctl start docker, or apt-get install podman runc, which needs no engine"


def _podman_oddity(said: str) -> tuple[str, str] | None:
    """Return why no container would start although podman answers, and what to do."""
    if HYBRID.is_dir() and said.endswith("crun"):
        advice = 'apt-get install runc, and `runtime = "runc"` below [engine] of containers.conf'
        return "crun refuses the mixed control groups of this machine", advice
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if os.geteuid() == 0 and most != resource.RLIM_INFINITY and most < PODMAN_FILES:
        advice = 'default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"] in containers.conf'
        return f"may open {most:,} files only, and podman asks for more", advice
    return None


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else text


async def check_sandbox(_scene: Scene) -> list[Finding]:
    """Return whether bubblewrap works, whether Landlock is there, and who needs either."""
    needs = "no case of this version runs commands, so nothing needs it yet"
    if sys.platform != "linux":
        text = f"Linux only; a container does its work here; {needs}"
        return [Finding("bubblewrap", "skip", text)]
    return [await _bubblewrap(needs), _landlock()]


async def _bubblewrap(needs: str) -> Finding:
    where = shutil.which("bwrap")
    if where is None:
        text = f"not installed; {needs}"
        return Finding("bubblewrap", "skip", text, "apt-get install bubblewrap")
    version = (await output_of(where, "--version", timeout_s=SANDBOX_TIMEOUT_S)).text.strip()
    out = await output_of(where, *NAMESPACES, *MOUNTS, "--", "true", timeout_s=SANDBOX_TIMEOUT_S)
    if out.error is None:
        text = f"{version} at {where} locked a command in; {needs}"
        return Finding("bubblewrap", "ok", text, details={"path": where, "version": version})
    why, advice = _refusal()
    text = f"cannot lock a command in: {why or out.error}; {needs}"
    return Finding("bubblewrap", "warn", text, advice, details={"path": where, "error": out.error})


def _refusal() -> tuple[str | None, str]:
    """Return which switch of the kernel is in the way, and what to do."""
    for switch, value, why, advice in REFUSALS:
        try:
            is_set = (SYSCTL / switch).read_text(encoding="ascii").strip() == value
        except (OSError, UnicodeError):
            continue
        if is_set:
            return why, advice
    return None, "inside a container: start it with --security-opt seccomp=unconfined"


def _landlock() -> Finding:
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    if version < 1:
        text = "this kernel has none, or has it switched off"
        return Finding("landlock", "skip", text)
    return Finding("landlock", "ok", f"version {version}", details={"version": version})

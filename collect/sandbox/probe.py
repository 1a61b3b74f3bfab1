"""Whether commands are really locked in on this machine, found out by trying to break out.

That bubblewrap is installed says little: the kernel, AppArmor or a container around us may refuse
what it needs. A sandbox is made as a run makes it, and a command in it tries what must not work.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from collect.sandbox.base import ENVIRONMENT, Backend, Command, Completed, SandboxError
from collect.sandbox.client import Sandbox
from collect.sandbox.engine_trouble import kernel_refusal
from schemas.config.sandbox import SandboxProfile

CONTAINER = "inside a container: start it with --security-opt seccomp=unconfined"

LINUX_ONLY = "name podman or docker, with an image, as `sandbox.backend` of the run profile"

COMMAND_S = 30.0
"""The helper is at low priority: on a busy machine even this script takes its time."""

SCRIPT = r"""
folder=$1 port=$2 hex=$3
try() { name=$1; shift; if ("$@") >/dev/null 2>&1; then echo "$name"; fi; }
write() { : > "$1"; }
try workspace write ./written
try outside write "$folder/open/written"
try system write /usr/benchlake-probe
try shadow cat /etc/shadow
try secret cat "$folder/closed/secret"
try network grep -qi ":$hex 0" /proc/net/tcp
if command -v bash; then try network bash -c ": < /dev/tcp/127.0.0.1/$port"; fi >/dev/null
try network python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)"
echo
env
cat /proc/1/environ 2>/dev/null | tr '\0' '\n'
"""
"""Prints the name of each attempt that worked, an empty line, and the environment."""

MEANINGS = {
    "outside": "writes outside of its folders",
    "system": "writes to /usr",
    "shadow": "reads /etc/shadow",
    "secret": "reads the files of this user",
    "network": "reaches the network of this machine",
    "environment": "sees the environment of the collector",
}
"""What must not work, and what it means."""

OWN_NAMES = frozenset({*ENVIRONMENT, "PWD", "OLDPWD", "SHLVL", "_", "TERM", "HOSTNAME"})
"""Variables that a shell or a container sets, whatever they are outside."""


@dataclass(frozen=True, slots=True)
class Holds:
    """What a sandbox is worth on this machine."""

    backend: str
    version: str
    """Empty when it does not run."""
    problem: str | None = None
    """None: it holds."""
    advice: str = ""
    """The next command; empty where there is none."""
    image_digest: str | None = None


async def probe(profile: SandboxProfile, backend: Backend) -> Holds:
    """Return whether a command is locked in, and if not why, and what to do."""
    if sys.platform != "linux" and not backend.is_engine:
        return Holds(backend.name, "", f"{backend.name} is for Linux only", LINUX_ONLY)
    version = await asyncio.to_thread(backend.version)
    try:
        problem, advice = await _attempt(profile, backend)
    except SandboxError as exc:
        why, advice = (None, exc.advice) if exc.advice else (kernel_refusal() or (None, CONTAINER))
        problem = why or str(exc)
    return Holds(backend.name, version, problem, advice, backend.image_digest())


async def _attempt(profile: SandboxProfile, backend: Backend) -> tuple[str | None, str]:
    """Return what is wrong with the sandbox and what to do; raises SandboxError."""
    sandbox = await Sandbox.open(profile, backend)
    try:
        folders = await sandbox.folders()
        first = await sandbox.run(folders, Command(argv=("true",), timeout_s=COMMAND_S))
        if first.exit_code != 0:
            return _failed(first), ""
        with tempfile.TemporaryDirectory() as name, socket.socket() as listener:
            folder = Path(name)
            _fill(folder)
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            listener.setblocking(False)
            port = listener.getsockname()[1]
            argv = ("/bin/sh", "-c", SCRIPT, "sh", name, str(port), f"{port:04X}")
            done = await sandbox.run(folders, Command(argv=argv, timeout_s=COMMAND_S))
            worked, environment = _read(done)
            if (folder / "open" / "written").exists():
                worked.add("outside")
            with contextlib.suppress(BlockingIOError):
                listener.accept()[0].close()
                worked.add("network")
        if done.exit_code != 0:
            return _failed(done), ""
        if not (folders.workspace / "written").is_file():
            return "a command in it cannot write to its workspace", ""
    finally:
        await sandbox.aclose()
    if set(environment.items()) & set(os.environ.items()) - _own():
        worked.add("environment")
    if backend.is_engine:
        worked.discard("shadow")  # that of the image
    broken = [meaning for name, meaning in MEANINGS.items() if name in worked]
    problem = f"a command in it {' and '.join(broken)}" if broken else None
    return problem, f"{backend.name} does not do its work: install it anew" if broken else ""


def _fill(folder: Path) -> None:
    """Make what must not be reached: a folder for everybody, and one for this user alone.

    The sandbox may run as another user, whom permissions alone would keep out of most places.
    """
    folder.chmod(0o755)
    (folder / "open").mkdir()
    (folder / "open").chmod(0o1777)
    (folder / "closed").mkdir(mode=0o700)
    (folder / "closed" / "secret").write_text("secret", encoding="utf-8")


def _own() -> set[tuple[str, str]]:
    return {(name, value) for name, value in os.environ.items() if name in OWN_NAMES}


def _failed(done: Completed) -> str:
    text = done.stderr.data.decode("utf-8", "replace").strip()
    return f"a command in it fails: {text or done.exit_code or done.ended_by}"


def _read(done: Completed) -> tuple[set[str], Mapping[str, str]]:
    """Return the attempts that worked, and the environment."""
    lines, _, rest = done.stdout.data.decode("utf-8", "replace").partition("\n\n")
    pairs = [line.partition("=") for line in rest.splitlines()]
    return set(lines.split()), {name: value for name, _, value in pairs}

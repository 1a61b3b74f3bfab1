"""Commands locked in by bubblewrap: namespaces of their own, a read-only system, three folders.

It needs no rights: as root it is started by the helper, which has given those up.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from collect.sandbox.base import (
    BLOCK_FD,
    ENVIRONMENT,
    STATUS_FD,
    Command,
    Folders,
    LocalBackend,
    SandboxError,
)
from collect.sandbox.scratch import ETC_FOLDERS, USER_ID
from collect.workspace import HOME, TMP, WORKSPACE
from schemas.config.sandbox import MB, SandboxLimits

INSTALL = "apt-get install bubblewrap"

NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    "--disable-userns",
)

HOSTNAME = "sandbox"

SYSTEM_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Names of the top folder that belong to /usr, as links or, on older systems, as folders."""

NETWORK_FILES = ("resolv.conf", "hosts")
"""Of this machine's /etc, for a command with the network."""

MAX_SHM_BYTES = 64_000_000
OPEN_FILES = 1024

SPARE_PROCESSES = 16
"""Above the limit, so that what exceeds it is noticed before the kernel refuses it."""

VERSION_TIMEOUT_S = 4.0


class Bwrap(LocalBackend):
    """Locks commands in by bubblewrap.

    Args:
        limits: of one command.
        reserved_mb: of addresses that a program may reserve and never write to, above its memory.
    """

    name = "bwrap"

    def __init__(self, limits: SandboxLimits, reserved_mb: int = 0) -> None:
        self.limits = limits
        self.path = shutil.which("bwrap")
        self._lock = (*NAMESPACES, *_identity(), *_system())
        self._etc = tuple(_etc(ETC_FOLDERS))
        self._network = tuple(_etc(NETWORK_FILES))
        self._prlimit = prlimit(resource_limits(limits, reserved_mb))
        self._devices = tuple(_devices(limits))

    def argv(self, command: Command, folders: Folders, name: str) -> list[str]:  # noqa: ARG002
        """Return the command line; the folders come last, on top of what is read-only.

        Raises:
            SandboxError: bubblewrap is not installed.
        """
        if self.path is None:
            message = "bubblewrap is not installed"
            raise SandboxError(message, INSTALL)
        workspace = str(folders.workspace)
        places = ((str(folders.home), HOME), (str(folders.tmp), TMP))
        is_read_only = command.is_workspace_read_only
        return [
            self.path,
            *self._lock,
            *(("--as-pid-1",) if command.is_first_process else ()),
            *(*_bound(folders.etc, "/etc"), *self._etc),
            *(self._network if command.network else ("--unshare-net",)),
            *self._devices,
            *("--ro-bind" if is_read_only else "--bind", workspace, WORKSPACE),
            *(word for here, inside in places for word in ("--bind", here, inside)),
            *(word for here, inside in command.binds for word in ("--ro-bind", here, inside)),
            *("--remount-ro", "/", "--chdir", WORKSPACE, "--json-status-fd", str(STATUS_FD)),
            *(() if command.port is None else ("--block-fd", str(BLOCK_FD))),
            *("--", *(() if command.limits_itself else self._prlimit)),
            *command.argv,
        ]

    def version(self) -> str:
        """Return what bwrap says of itself; empty when it does not run."""
        if self.path is None:
            return ""
        try:
            done = subprocess.run(
                (self.path, "--version"),
                capture_output=True,
                text=True,
                check=True,
                env=dict(ENVIRONMENT),
                timeout=VERSION_TIMEOUT_S,
            )
        except (OSError, UnicodeError, subprocess.SubprocessError):
            return ""
        return done.stdout.strip()


def _identity() -> Iterator[str]:
    yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv")
    for name, value in ENVIRONMENT.items():
        yield from ("--setenv", name, value)
    yield from ("--uid", str(USER_ID), "--gid", str(USER_ID), "--hostname", HOSTNAME)


def _system() -> Iterator[str]:
    """Yield what is there of this machine: programs and libraries."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in SYSTEM_LINKS:
        path = f"/{name}"
        if os.path.islink(path):  # noqa: PTH114
            yield from ("--symlink", os.readlink(path), path)  # noqa: PTH115
        elif os.path.isdir(path):  # noqa: PTH112
            yield from ("--ro-bind", path, path)


def _etc(names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        path = Path("/etc") / name
        if path.exists():
            yield from _bound(path, str(path))


def _bound(source: Path, target: str) -> tuple[str, str, str]:
    return "--ro-bind", str(source), target


def _devices(limits: SandboxLimits) -> Iterator[str]:
    """Yield /proc, and a /dev in which only memory can be written, a bounded amount of it."""
    shm = min(MAX_SHM_BYTES, limits.memory_mb * MB)
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from ("--size", str(shm), "--tmpfs", "/dev/shm", "--remount-ro", "/dev")  # noqa: S108


def resource_limits(limits: SandboxLimits, reserved_mb: int = 0) -> dict[str, tuple[int, int]]:
    """Return what the kernel holds a process to: the soft and the hard limit, by resource.

    The names are those of `prlimit`. Memory is that of data, since node and Java reserve addresses.
    """
    size, memory = limits.file_mb * MB, (limits.memory_mb + reserved_mb) * MB
    processes = limits.processes + SPARE_PROCESSES
    return {
        "cpu": (limits.cpu_seconds, limits.cpu_seconds + 1),
        "fsize": (size, size),
        "data": (memory, memory),
        "nproc": (processes, processes),
        "nofile": (OPEN_FILES, OPEN_FILES),
        "core": (0, 0),
    }


def prlimit(limits: Mapping[str, tuple[int, int]]) -> tuple[str, ...]:
    """Return the words before a command that hold it to limits of `resource_limits`."""
    words = (f"--{name}={soft}:{hard}" for name, (soft, hard) in limits.items())
    return "prlimit", *words, "--"

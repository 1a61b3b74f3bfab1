"""What runs in a sandbox and what comes of it; how a backend locks a command in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from collect.workspace import HOME

if TYPE_CHECKING:  # pydantic would double the helper's start
    from schemas.config.sandbox import SandboxLimits

EndedBy = Literal["exit", "time", "memory", "processes", "workspace", "output", "stopped"]
"""What ended a command: itself, a limit, or the end of the run."""

UNLOCKED = "none"
"""Name of the backend that locks nothing in, by --unsafe-no-sandbox."""

MAX_STORED_BYTES = 65_536
"""Of what a command printed, stdout and stderr together."""

BLOCK_FD = 4
"""On which bwrap waits, with everything made, before the command begins."""

STATUS_FD = 3
"""On which bwrap tells who is the first process inside, and that the command began."""

ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": HOME,
    "LANG": "C.UTF-8",
}
"""All that a command sees of the environment (D-H1)."""


class SandboxError(Exception):
    """A command could not be locked in: nobody's failure but ours or this machine's.

    Attributes:
        advice: the next command, empty where there is none.
    """

    def __init__(self, what: str, advice: str = "") -> None:
        super().__init__(what)
        self.advice = advice


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of one trial on this machine, below the scratch folder of the sandbox."""

    workspace: Path
    home: Path
    tmp: Path

    @property
    def etc(self) -> Path:
        """The made /etc, the same for all trials."""
        return self.workspace.parent.parent / "etc"

    def added(self, name: str) -> Path:
        """Return one more folder of the trial, made where it is not there.

        For files that are bound into its commands: the collector fills it, and the helper removes
        it, whichever user either is.
        """
        folder = self.workspace.parent / name
        folder.mkdir(exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            os.fchmod(handle, 0o755)
            if os.geteuid() == 0:
                owner = self.workspace.stat()
                os.fchown(handle, owner.st_uid, owner.st_gid)
        finally:
            os.close(handle)
        return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command of a trial."""

    argv: tuple[str, ...]
    """As it is found inside; the working directory is the workspace."""
    stdin: bytes = b""
    network: bool = False
    """Whether it may reach the network; with `bwrap` that is the machine's own, loopback too."""
    timeout_s: float | None = None
    """None: `command_seconds` of the limits."""
    port: int | None = None
    """Of loopback inside: a socket that listens on it is handed out before the command begins, with
    `bwrap` alone and without the network."""
    binds: tuple[tuple[str, str], ...] = ()
    """Read-only: a path on this machine, and where it is found inside."""
    is_workspace_read_only: bool = False
    """With `bwrap` alone, as the next."""
    is_first_process: bool = False
    """The first of the processes inside, which no other of them can end; all end with it."""
    limits_itself: bool = False
    """It sets the limits of its resources itself, before it runs what is not ours."""

    @property
    def needs_bwrap(self) -> bool:
        """Whether no container engine can lock it in."""
        return self.is_workspace_read_only or self.is_first_process or self.port is not None


@dataclass(frozen=True, slots=True)
class Output:
    """What was printed on one of the two streams."""

    data: bytes
    """What is kept: its beginning and its end."""
    produced: int
    """Bytes that were printed."""
    cut_at: int | None = None
    """Where in `data` something is left out; None: nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """What came of a command; all its processes are gone."""

    exit_code: int | None
    """None: a signal ended it, or was told by a shell as 128 and its number."""
    signal: int | None
    ended_by: EndedBy
    stdout: Output
    stderr: Output
    wall_ms: int
    cpu_ms: int | None = None
    peak_memory_bytes: int | None = None
    """Of all processes together, as often as it was looked at."""
    oom_kills: int | None = None
    throttled_ms: int | None = None
    """As a control group of ours counted them; None: there is none."""


class Backend(Protocol):
    """One way to lock a command in."""

    name: str
    limits: SandboxLimits
    is_engine: bool
    """A container engine: it is started as this user, and holds the limits of memory, processes and
    processor time itself. Else the helper does, and reads `STATUS_FD`."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Of the process that is started on this machine."""

    def prepare(self) -> None:
        """Do what must be done before the first command.

        Raises:
            SandboxError: no command can be locked in.
        """

    def argv(self, command: Command, folders: Folders, name: str) -> list[str]:
        """Return what is started on this machine; `name` is unique on it."""

    def ending(self, name: str) -> list[str] | None:
        """Return a command that ends what outlives the process that was started; None: nothing."""

    def refusal(self, name: str, completed: Completed) -> str:
        """Return why a command never began, whose exit code does not tell; empty where it did.

        Raises:
            SandboxError: that cannot be found out.
        """

    def image_digest(self) -> str | None:
        """Return the digest of the image that commands run in; None where there is none."""

    def version(self) -> str:
        """Return what the inventory says of it; empty when it does not run."""


class LocalBackend:
    """What is the same wherever no engine is asked: a command is a child of the helper's."""

    is_engine = False
    environment = ENVIRONMENT

    def prepare(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def ending(self, name: str) -> list[str] | None:  # noqa: ARG002
        """Return nothing: the helper ends the process that it started, and all ends with it."""
        return None

    def refusal(self, name: str, completed: Completed) -> str:  # noqa: ARG002
        """Return nothing: that a command began is told on `STATUS_FD`."""
        return ""

    def image_digest(self) -> str | None:
        """Return nothing: there is no image."""
        return None

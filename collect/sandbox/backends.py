"""The ways to lock a command in, by the names that a run profile may have, and the way not to."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from collect.sandbox.base import UNLOCKED, Backend, Command, Folders, LocalBackend
from collect.sandbox.bwrap import Bwrap, prlimit, resource_limits
from collect.sandbox.engine import Engine
from schemas.config.sandbox import BackendName, SandboxLimits, SandboxProfile

SCRIPT = r"""
cd "$1" || exit
shift
"$@" 3>&-
printf '{"exit-code": %d}\n' $? >&3
"""
"""For /bin/sh: runs the words behind the folder in it, and tells on `STATUS_FD` how they ended."""


class Unlocked(LocalBackend):
    """Runs commands as they are, for `--unsafe-no-sandbox`; recorded as `none`.

    A command may do whatever this user may, or, where this is root, whatever `nobody` may: read
    most files of this machine, reach the network and see every process. What remains is order: it
    begins in the workspace of its trial with an environment of ours, in which home and temporary
    files are the trial's, and is held to its limits. Its process group ends with it; what has left
    that group ends with it too, or with the next command that ends, whoever began it. The folders
    are where they are on this machine, not below /workspace.

    Args:
        limits: of one command.
    """

    name = UNLOCKED

    def __init__(self, limits: SandboxLimits) -> None:
        self.limits = limits
        held = {name: one for name, one in resource_limits(limits).items() if name != "nproc"}
        self._prlimit = prlimit(held)

    def argv(self, command: Command, folders: Folders, name: str) -> list[str]:  # noqa: ARG002
        """Return the command line; processes are counted by the helper, not for the whole user."""
        return [
            *("/bin/sh", "-c", SCRIPT, "sh", str(folders.workspace)),
            *("env", f"HOME={folders.home}", f"TMPDIR={folders.tmp}"),
            *self._prlimit,
            *command.argv,
        ]

    def version(self) -> str:
        """Return that there is none."""
        return "not locked in"


def _engine(profile: SandboxProfile) -> Backend:
    assert profile.image is not None
    return Engine(profile.backend, profile.image, profile.limits)


BACKENDS: Mapping[BackendName, Callable[[SandboxProfile], Backend]] = {
    "bwrap": lambda profile: Bwrap(profile.limits),
    "podman": _engine,
    "docker": _engine,
}


def backend_of(profile: SandboxProfile, *, unsafe: bool = False) -> Backend:
    """Return what locks the commands of a run in; with `unsafe` nothing does."""
    return Unlocked(profile.limits) if unsafe else BACKENDS[profile.backend](profile)

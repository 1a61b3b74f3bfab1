"""Can a command be locked in on this machine? Found out by doing it."""

from __future__ import annotations

import ctypes
import shutil
import sys
from pathlib import Path

from collect.doctor.context import Scene
from collect.doctor.findings import found
from collect.inventory.subprocesses import output_of
from schemas.output.doctor import DoctorCheck

SYSCTL = Path("/proc/sys")
SANDBOX_LIMIT_S = 4.0

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


async def check_sandbox(scene: Scene) -> list[DoctorCheck]:
    """Return whether bubblewrap works, whether Landlock is there, and who needs either."""
    del scene
    needs = "no case of this version runs commands, so nothing needs it yet"
    if sys.platform != "linux":
        text = f"Linux only; a container does its work here; {needs}"
        return [found("sandbox", "bubblewrap", "skip", text)]
    return [await _bubblewrap(needs), _landlock()]


async def _bubblewrap(needs: str) -> DoctorCheck:
    where = shutil.which("bwrap")
    if where is None:
        text = f"not installed; {needs}"
        return found("sandbox", "bubblewrap", "skip", text, "apt-get install bubblewrap")
    version = (await output_of(where, "--version", timeout_s=SANDBOX_LIMIT_S)).text.strip()
    out = await output_of(where, *NAMESPACES, *MOUNTS, "--", "true", timeout_s=SANDBOX_LIMIT_S)
    if out.error is None:
        text = f"{version} at {where} locked a command in; {needs}"
        return found(
            "sandbox", "bubblewrap", "ok", text, details={"path": where, "version": version}
        )
    why, advice = _refusal()
    text = f"cannot lock a command in: {why or out.error}; {needs}"
    return found(
        "sandbox", "bubblewrap", "warn", text, advice, details={"path": where, "error": out.error}
    )


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


def _landlock() -> DoctorCheck:
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    if version < 1:
        text = "this kernel has none, or has it switched off"
        return found("sandbox", "landlock", "skip", text)
    return found("sandbox", "landlock", "ok", f"version {version}", details={"version": version})

"""What keeps a container engine, or bubblewrap, from locking a command in, and what to do about it.

Read from the errors of the clients, which change little from version to version, and from what this
machine is known to refuse. `collect doctor` and the sandbox give the same advice.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

HYBRID_CONTROLLERS = Path("/sys/fs/cgroup/unified/cgroup.controllers")
"""Not empty where control groups of the old and the new kind share the controllers."""

RUNC = "apt-get install runc"

SYSTEMD = (
    'loginctl enable-linger $USER, then log in again; or cgroup_manager = "cgroupfs" below '
    "[engine] of containers.conf"
)

SYSCTL = Path("/proc/sys")

SWITCHES = (
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

NAMESPACE_ERRORS = ("user namespace", "uid_map", "cannot clone", "cannot re-exec", "unshare")
"""Words of errors that a switch of the kernel may explain, where podman has no root."""

NO_LIMITS = (
    "without root an engine needs control groups of version 2 that systemd has delegated: "
    "https://rootlesscontaine.rs/getting-started/common/cgroup2/; or run as root"
)

REFUSALS = (
    ("hybrid mode", RUNC),
    (
        "rlimit",
        'default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"] below [containers] of '
        "containers.conf: this machine lets nobody raise a limit",
    ),
    ("unknown flag", "the client is too old: podman 4.3 and docker 20.10 are known to work"),
    ("newuidmap", "apt-get install uidmap, which podman needs without root"),
    ("subuid", "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER"),
    ("rootless needs no limits", NO_LIMITS),
    ("requested cgroup controller", NO_LIMITS),
    ("resource limits are not supported", NO_LIMITS),
    ("sd-bus", SYSTEMD),
    ("session bus", SYSTEMD),
    (
        "overlayfs",
        "apt-get install fuse-overlayfs: inside a container the kernel's own overlays do not nest",
    ),
    ("exec format error", "take an image of this machine's architecture"),
    ("no space left", "make room where the engine keeps its images: df -h"),
    (
        "executable file",
        "the image lacks that command: name another image, or build one with it",
    ),
)
"""Words of an error, in small letters, and what to do; the first that is in it tells."""

NO_SUCH_IMAGE = ("no such image", "image not known")


def advice(client: str, error: str) -> str:
    """Return what to do about an error of `docker` or `podman`."""
    low = error.lower()
    if client == "docker" and "permission denied" in low:
        return "sudo usermod -aG docker $USER, then log in again"
    if any(words in low for words in NAMESPACE_ERRORS) and (found := kernel_refusal()) is not None:
        return ": ".join(found)
    if (cure := next((cure for words, cure in REFUSALS if words in low), None)) is not None:
        return cure
    if client == "podman":
        return "podman info says more"
    if os.environ.get("DOCKER_HOST"):
        return "DOCKER_HOST is set: does it name the right address?"
    if sys.platform == "darwin":
        return "start Docker Desktop, or podman machine start"
    return "sudo systemctl start docker, or apt-get install podman runc, which needs no engine"


def kernel_refusal() -> tuple[str, str] | None:
    """Return which switch of the kernel refuses user namespaces, and what to do; None: none."""
    for switch, value, why, cure in SWITCHES:
        try:
            is_set = (SYSCTL / switch).read_text(encoding="ascii").strip() == value
        except (OSError, UnicodeError):
            continue
        if is_set:
            return why, cure
    return None


def needs_runc() -> bool:
    """Return whether this machine mixes control groups as crun, the usual runtime, refuses."""
    try:
        return bool(HYBRID_CONTROLLERS.read_text(encoding="ascii").strip())
    except (OSError, UnicodeError):
        return False


def runtime_of(client: str) -> tuple[str, ...]:
    """Return the arguments that choose another runtime than the configured one, where it must."""
    must = client == "podman" and needs_runc() and shutil.which("runc") is not None
    return ("--runtime", "runc") if must else ()


def last_line(text: str) -> str:
    """Return the last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else text

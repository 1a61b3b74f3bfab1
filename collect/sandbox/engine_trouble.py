"""What keeps a container engine from starting a container, and what to do about it.

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
)
"""Words of an error, in small letters, and what to do."""

NO_LIMITS = (
    "without root an engine needs control groups of version 2 that systemd has delegated: "
    "https://rootlesscontaine.rs/getting-started/common/cgroup2/; or run as root"
)

NO_SUCH_IMAGE = ("no such image", "image not known")


def advice(client: str, error: str) -> str:
    """Return what to do about an error of `docker` or `podman`."""
    low = error.lower()
    if client == "docker" and "permission denied" in low:
        return "sudo usermod -aG docker $USER, then log in again"
    if (cure := next((cure for words, cure in REFUSALS if words in low), None)) is not None:
        return cure
    if client == "podman":
        return "podman info says more"
    if os.environ.get("DOCKER_HOST"):
        return "DOCKER_HOST is set: does it name the right address?"
    if sys.platform == "darwin":
        return "start Docker Desktop, or podman machine start"
    return "sudo systemctl start docker, or apt-get install podman runc, which needs no engine"


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

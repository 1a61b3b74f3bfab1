"""Is there a container client, and does an engine answer it? The first without the second is usual.

Nothing of this version runs in a container, so that nothing here fails.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import sys
from pathlib import Path

from collect.doctor.context import Scene
from collect.doctor.findings import Details, found
from collect.inventory.subprocesses import output_of
from schemas.output.doctor import DoctorCheck

CONTAINER_LIMIT_S = 9.0
HYBRID = Path("/sys/fs/cgroup/unified")
"""There where the old and the new kind of control groups are mixed, which crun refuses."""

PODMAN_FILES = 1_048_576
"""Open files that podman asks for as root."""

QUERIES = {
    "docker": ("info", "--format", "{{.ServerVersion}}"),
    "podman": ("info", "--format", "{{.Version.Version}} {{.Host.OCIRuntime.Name}}"),
}


async def check_containers(scene: Scene) -> list[DoctorCheck]:
    """Return a finding for each client that is there, or that there is none."""
    del scene
    there = [client for client in QUERIES if shutil.which(client)]
    if not there:
        text = "neither docker nor podman; nothing of this version needs a container"
        return [found("containers", "–", "skip", text, "apt-get install podman runc")]
    return list(await asyncio.gather(*(_client(client) for client in there)))


async def _client(client: str) -> DoctorCheck:
    out = await output_of(client, *QUERIES[client], timeout_s=CONTAINER_LIMIT_S)
    where = str(shutil.which(client))
    said = " ".join(out.text.split())
    if out.error is not None or not said:
        error = out.error or "no version"
        text = f"client at {where}, but no engine answers it: {_last_line(error)}"
        return found(
            "containers", client, "warn", text, _advice(client, error), details={"error": error}
        )
    details: Details = {"path": where, "version": said}
    if client == "podman" and (odd := _podman_oddity(said)):
        return found("containers", client, "warn", f"{said}: {odd[0]}", odd[1], details=details)
    return found("containers", client, "ok", f"engine {said} answers", details=details)


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

"""One command in a container of an image, to find out what the image holds and whether it starts.

The container is locked in as that of a trial, without a network and without its folders,
which an image need not have.
"""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import time
from dataclasses import dataclass

from collect.sandbox.base import SandboxError
from collect.sandbox.engine import COMPLAINT, FAILED, QUERY_TIMEOUT_S, Engine
from collect.sandbox.engine_trouble import advice, last_line


@dataclass(frozen=True, slots=True)
class Look:
    """What a command printed and how it ended."""

    exit_code: int
    stdout: str
    stderr: str
    wall_ms: int
    """The start of the container included."""


def look_inside(engine: Engine, *argv: str, timeout_s: float = 30.0) -> Look:
    """Return what a command does in a container of the engine's image.

    Raises:
        SandboxError: there is no engine or no image, the container does not start, or it does not
            end in time.
    """
    name = f"benchlake-look-{secrets.token_hex(8)}"
    command = (
        *(*engine.found.lock, f"--name={name}", "--network=none", "--workdir=/"),
        *(f"--entrypoint={argv[0]}", engine.found.image_id, *argv[1:]),
    )
    started = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=dict(engine.environment),
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        _remove(engine, name)
        message = f"{engine.name} started no container that ended within {timeout_s:g} s"
        raise SandboxError(message, advice(engine.name, "")) from exc
    wall_ms = round(1000 * (time.perf_counter() - started))
    lines = done.stderr.splitlines()
    refusal = next((one for one in lines if one.startswith(COMPLAINT[engine.name])), None)
    if done.returncode in FAILED and refusal is not None:
        raise SandboxError(last_line(refusal), advice(engine.name, done.stderr))
    return Look(done.returncode, done.stdout, done.stderr, wall_ms)


def _remove(engine: Engine, name: str) -> None:
    """Remove a container that outlived its client."""
    ending = engine.ending(name)
    if ending is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                ending,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=dict(engine.environment),
                timeout=QUERY_TIMEOUT_S,
                check=False,
            )

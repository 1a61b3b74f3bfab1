"""Runs the small commands whose output a run records, such as `free -h`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

from collect.config.endpoints import without_secrets

OLLAMA_STORE = os.path.expanduser("~/.ollama")  # noqa: PTH111 - given to `du` as text
MOST_AT_ONCE = 32

REAP_S = 2.0
"""How long a command that was killed may take to go."""

NO_MORE: Mapping[str, str | None] = {}


@dataclass(frozen=True)
class Output:
    """What a command printed, or why it printed nothing."""

    text: str
    error: str | None = None

    @property
    def first_line(self) -> str | None:
        """Return the first line that is not blank; None when there is none, or it failed."""
        lines = (line.strip() for line in self.text.splitlines())
        return None if self.error is not None else next((line for line in lines if line), None)


async def output_of(
    *command: str,
    timeout_s: float = 10.0,
    niceness: int = 0,
    environment: Mapping[str, str | None] = NO_MORE,
) -> Output:
    """Return a command's standard output; never raises for what the command does.

    It gets no keys and no terminal. When it takes too long, or nobody waits any more, it is ended
    with all that it started.

    Args:
        command: its name, looked up on PATH, and its arguments.
        timeout_s: seconds it may take.
        niceness: how far it stands back for other processes.
        environment: variables it gets beside ours; None: one of ours that it does not get.
    """
    if shutil.which(command[0]) is None:
        return Output("", f"{command[0]} is not installed")
    try:
        process = _start(command, environment)
    except OSError as exc:
        return Output("", f"{command[0]} cannot be run: {exc.strerror}")
    if niceness:
        with contextlib.suppress(OSError):  # it may be over already
            os.setpriority(os.PRIO_PROCESS, process.pid, niceness)
    reading = asyncio.get_running_loop().run_in_executor(_readers(), _read, process, timeout_s)
    try:
        return await asyncio.shield(reading)
    except asyncio.CancelledError:
        _kill(process)
        await reading
        raise


def _start(
    command: Sequence[str], environment: Mapping[str, str | None]
) -> subprocess.Popen[bytes]:
    """Start a process here, not by way of the loop: uvloop takes ten times as long, and blocks."""
    variables = without_secrets() | {"LC_ALL": "C"} | dict(environment)
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={name: value for name, value in variables.items() if value is not None},
        start_new_session=True,
    )


@cache
def _readers() -> ThreadPoolExecutor:
    """Return threads of their own: those of the loop are for the run's files."""
    return ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="commands")


def _read(process: subprocess.Popen[bytes], timeout_s: float) -> Output:
    """Wait for a process, and end it when that takes too long."""
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _kill(process)
        with contextlib.suppress(subprocess.TimeoutExpired):  # a dead network drive holds it
            process.wait(REAP_S)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        return Output("", f"no answer within {timeout_s:g} s")
    text = out.decode(errors="replace")
    if process.returncode != 0:
        said = err.decode(errors="replace").strip() or f"exit code {process.returncode}"
        return Output(text, said)
    return Output(text)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process with its whole session."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)

"""Shards as processes of this machine, for endpoints that answer faster than one process asks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO, Protocol

from collect.dispatch import shard
from collect.dispatch.executors import StartError, Workplace
from collect.dispatch.forked import forked, may_fork
from collect.dispatch.messages import Begin, Lines, Message, line_of, message_of
from collect.execute.spec import RunSpec
from collect.inventory.git import end_readers
from schemas.io.own_files import open_own
from schemas.run.dispatch import ExecutorName

END_S = 5.0
"""How long a process may take to end once nobody listens to it."""

READ_BYTES = 1 << 16


class PipedProcess(Protocol):
    """A process with a pipe to it and one from it."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit code; raise `TimeoutExpired` when it runs longer."""

    def kill(self) -> None:
        """End it now."""


class Processes:
    """Starts every shard at once; the system divides the cores.

    The first attempts of a new run are made of this process where that is possible; all others
    read the run's folder.
    """

    name: ExecutorName = "processes"
    lease_s = 0.0
    """A process of ours is known to be gone when it is."""

    def __init__(self, workplace: Workplace) -> None:
        del workplace  # all of it is here
        self.n_places = os.cpu_count() or 1
        self._made: dict[Path, PipedProcess] = {}
        """Processes of first attempts, which wait for their first word."""

    def prepare(self, specs: Sequence[RunSpec]) -> None:
        """Make the processes of a new run, which then need not read its folders."""
        end_readers()
        for spec in specs:
            run_dir = spec.request.runs_dir / (spec.request.run_id or "")
            if may_fork():
                with contextlib.suppress(OSError):  # it is started later, or why not is said
                    self._made[run_dir] = forked(run_dir, partial(shard.main, run_dir, spec))

    async def start(self, run_dir: Path, begin: Begin) -> LocalShard:
        """Start one attempt.

        Raises:
            StartError: the system has no room for it.
        """
        try:
            process = self._made.pop(run_dir, None) or _started(run_dir)
            local = LocalShard(process)
            await local.connect()
        except OSError as exc:
            message = f"{run_dir.name}: its process cannot be started ({exc.strerror})"
            raise StartError(message) from exc
        local.send(begin)
        return local

    async def close(self) -> None:
        """End those that nobody wanted; each other process was ended by its own `end`."""
        for process in self._made.values():
            process.kill()
            await asyncio.to_thread(process.wait)


def _started(run_dir: Path) -> PipedProcess:
    """Start a process in a session of its own, so that Ctrl-C reaches the coordinator alone."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    with os.fdopen(open_own(run_dir, "run.log", flags), "ab") as log:
        return subprocess.Popen(
            shard_command(run_dir),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            bufsize=0,
            start_new_session=True,
        )


def shard_command(run_dir: Path) -> tuple[str, ...]:
    """Return the command of a shard's process.

    `-P` keeps a folder of the user's called `collect` from being taken for ours.
    """
    return (sys.executable, "-P", "-m", shard.__name__, str(run_dir))


class LocalShard:
    """A process and the two pipes to it."""

    def __init__(self, process: PipedProcess) -> None:
        self._process = process
        self._lines = Lines()
        self._heard: deque[bytes] = deque()
        self._reader = asyncio.StreamReader()

    async def connect(self) -> None:
        """Listen to the process, by the loop that runs."""
        loop = asyncio.get_running_loop()
        protocol = asyncio.StreamReaderProtocol(self._reader)
        self._writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self._process.stdin)
        self._reading, _ = await loop.connect_read_pipe(lambda: protocol, self._process.stdout)

    def send(self, message: Message) -> None:
        """Write a line to it."""
        if not self._writer.is_closing():  # else it is gone
            self._writer.write(line_of(message))

    async def receive(self) -> Message | None:
        """Return the next line; None when its end of the pipe is closed."""
        while not self._heard:
            if not (piece := await self._reader.read(READ_BYTES)):
                return None
            self._heard += self._lines.add(piece)
        return message_of(self._heard.popleft())

    async def end(self) -> str:
        """Close its input, give it a moment, kill it; return how it ended."""
        self._writer.close()
        try:
            code = await asyncio.to_thread(self._process.wait, END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = await asyncio.to_thread(self._process.wait)
        self._reading.close()
        return f"it was killed ({signal.Signals(-code).name})" if code < 0 else f"code {code}"

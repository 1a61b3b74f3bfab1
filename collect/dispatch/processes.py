"""Shards as processes of this machine, for endpoints that answer faster than one process asks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from pathlib import Path

from collect.dispatch.executors import StartError, Workplace
from collect.dispatch.messages import Begin, Lines, Message, line_of, message_of
from schemas.io.own_files import open_own
from schemas.run.dispatch import ExecutorName

MODULE = "collect.dispatch.shard"

END_S = 5.0
"""How long a process may take to end once nobody listens to it."""

READ_BYTES = 1 << 16


class Processes:
    """Starts every shard at once; the system divides the cores."""

    name: ExecutorName = "processes"
    lease_s = 0.0
    """A process of ours is known to be gone when it is."""

    def __init__(self, workplace: Workplace) -> None:
        del workplace  # all of it is here
        self.n_places = os.cpu_count() or 1

    async def start(self, run_dir: Path, begin: Begin) -> LocalShard:
        """Start one attempt.

        It is in a session of its own, so that Ctrl-C reaches the coordinator alone.

        Raises:
            StartError: the system has no room for it.
        """
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            with os.fdopen(open_own(run_dir, "run.log", flags), "ab") as log:
                process = await asyncio.create_subprocess_exec(
                    *shard_command(run_dir),
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError as exc:
            message = f"{run_dir.name}: its process cannot be started ({exc.strerror})"
            raise StartError(message) from exc
        shard = LocalShard(process)
        shard.send(begin)
        return shard

    async def close(self) -> None:
        """Nothing is left: each process was ended by its own `end`."""


def shard_command(run_dir: Path) -> tuple[str, ...]:
    """Return the command of a shard's process.

    `-P` keeps a folder of the user's called `collect` from being taken for ours.
    """
    return (sys.executable, "-P", "-m", MODULE, str(run_dir))


class LocalShard:
    """A process and the two pipes to it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._lines = Lines()
        self._heard: deque[bytes] = deque()

    def send(self, message: Message) -> None:
        """Write a line to it."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, RuntimeError):  # it is gone, or its pipe is closed
            self._process.stdin.write(line_of(message))

    async def receive(self) -> Message | None:
        """Return the next line; None when its end of the pipe is closed."""
        assert self._process.stdout is not None
        while not self._heard:
            if not (piece := await self._process.stdout.read(READ_BYTES)):
                return None
            self._heard += self._lines.add(piece)
        return message_of(self._heard.popleft())

    async def end(self) -> str:
        """Close its input, give it a moment, kill it; return how it ended."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(END_S):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        code = self._process.returncode
        assert code is not None
        return f"it was killed ({signal.Signals(-code).name})" if code < 0 else f"code {code}"

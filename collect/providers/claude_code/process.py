"""Runs a command line tool once, in its own home and process group, and cleans up both.

Its output goes to a file in its home, which is polled: at its exit the Claude Code CLI drops what
does not fit into a pipe. The reader of the lines decides how long the command may run, since only
the lines tell a slow start from a slow model.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

MAX_OUTPUT_BYTES = 64_000_000
"""Bytes of standard output; more is no answer."""

LOOK_S = 0.02
"""How often is looked for new output."""

MAX_READ_BYTES = 1_000_000
"""Bytes taken in at once."""

MAX_STDERR_BYTES = 4_096
"""Bytes kept of standard error, from its end."""

REAP_S = 5.0
"""How long the pipes of a killed command may stay open."""

OnLine = Callable[[bytes], float | None]
"""Takes a line; returns how many seconds the command may go on from here, or None to leave that as
it is."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a command ended."""

    code: int | None
    """Negative: killed by that signal; None: never started."""
    stderr: str = ""
    ended_by_us: bool = False
    """It had used up its time."""
    too_much: bool = False
    """It wrote more than `MAX_OUTPUT_BYTES`."""


async def run_command(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    home: Path,
    stdin: bytes,
    start_s: float,
    on_line: OnLine,
) -> Exit:
    """Run a command to its end, or to the end of its time, and reap all that it started.

    Args:
        command: an absolute path and its arguments.
        environment: all of it; nothing of ours is added.
        home: its working directory.
        stdin: what it reads; the pipe is closed after it.
        start_s: how long it may run, until `on_line` says otherwise.
        on_line: gets each whole line of standard output.

    Raises:
        OSError: it cannot be started.
    """
    loop = asyncio.get_running_loop()
    pipes = _Pipes(on_line)
    pipes.go_on(start_s)
    output = home / "output"
    try:
        with output.open("wb", 0) as written, output.open("rb", 0) as pipes.output:
            transport, _ = await loop.subprocess_exec(
                lambda: pipes,
                *command,
                stdout=written,
                env=environment,
                cwd=home,
                start_new_session=True,
            )
            pipes.look()
            try:
                _write(transport, stdin)
                ended_by_us = await pipes.over
            finally:
                await _reap(transport, pipes)
                pipes.look()
    finally:
        pipes.no_timer()
    return Exit(
        code=transport.get_returncode(),
        stderr=pipes.last_words(),
        ended_by_us=ended_by_us,
        too_much=pipes.size > MAX_OUTPUT_BYTES,
    )


class _Pipes(asyncio.SubprocessProtocol):
    """Cuts standard output into lines as it comes, and keeps the end of standard error."""

    def __init__(self, on_line: OnLine) -> None:
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[bool] = self._loop.create_future()
        """Done once the command ended (False) or has used up its time (True)."""
        self.closed: asyncio.Future[None] = self._loop.create_future()
        """Done once it is reaped and all it wrote is read."""
        self.stderr = bytearray()
        self._is_cut = False
        self.size = 0
        self._rest = bytearray()
        self._on_line = on_line
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None
        self.output: io.FileIO

    def last_words(self) -> str:
        """Return the end of standard error, from a word on: half a key is none that is known."""
        text = self.stderr.decode(errors="replace")
        return re.sub(r"\A\S*", "", text) if self._is_cut else text

    def go_on(self, seconds: float) -> None:
        """Let the command run for so long from here."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._finish, True)

    def look(self) -> None:
        """Take in what was written since, and look again soon."""
        while self.size <= MAX_OUTPUT_BYTES and (data := self.output.read(MAX_READ_BYTES)):
            self.pipe_data_received(1, data)
        if self._looking is not None:
            self._looking.cancel()
        self._looking = self._loop.call_later(LOOK_S, self.look)

    def no_timer(self) -> None:
        """Forget how long it may run, and look no more."""
        for timer in (self._timer, self._looking):
            if timer is not None:
                timer.cancel()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Hand over whole lines."""
        if fd != 1:
            self.stderr += data
            self._is_cut |= len(self.stderr) > MAX_STDERR_BYTES
            del self.stderr[:-MAX_STDERR_BYTES]
            return
        self.size += len(data)
        if self.size > MAX_OUTPUT_BYTES:
            self._finish(True)
            return
        self._rest += data
        if b"\n" in data:
            *lines, rest = bytes(self._rest).split(b"\n")
            self._rest = bytearray(rest)
            for line in lines:
                if (seconds := self._on_line(line)) is not None:
                    self.go_on(seconds)

    def process_exited(self) -> None:
        """Wake who waits for the end."""
        self._finish(False)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Take note that all pipes are closed."""
        if not self.closed.done():
            self.closed.set_result(None)

    def _finish(self, by_us: bool) -> None:
        if not self.over.done():
            self.over.set_result(by_us)


def _write(transport: asyncio.SubprocessTransport, stdin: bytes) -> None:
    """Write all of standard input and close it; a command that has ended needs none."""
    pipe = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))
    if not pipe.is_closing():
        pipe.write(stdin)
        pipe.close()


async def _reap(transport: asyncio.SubprocessTransport, pipes: _Pipes) -> None:
    """End the whole process group, and read what it had written."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(transport.get_pid(), signal.SIGKILL)
    try:
        with suppress(TimeoutError):  # a pipe that a process of another session holds
            await asyncio.wait_for(pipes.closed, REAP_S)
    finally:
        transport.close()

"""What a command reads and prints, and how it ended.

All that is printed is counted, its beginning and its end are stored: 64 KB are kept of both streams
together. A stream that needs less than half leaves the rest to the other one. Standard library
only: the helper loads this.
"""

from __future__ import annotations

import base64
import errno
import fcntl
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from collect.sandbox.base import MAX_STORED_BYTES, Completed, EndedBy, Output

HEAD_SHARE = 3 / 4
"""Of what is kept of a stream that is cut; the rest is its end."""

MAX_HEAD = int(MAX_STORED_BYTES * HEAD_SHARE)
MAX_TAIL = MAX_STORED_BYTES - MAX_HEAD

CHUNK_BYTES = 1 << 16

SHELL_SIGNAL = 128
"""What a shell, and bwrap, adds to the number of a signal that ended a command."""

NOT_STARTED = 126
"""The exit code by which a shell says that a command cannot be started."""


LIMIT_SIGNALS: Mapping[int, EndedBy] = {signal.SIGXCPU: "time", signal.SIGXFSZ: "workspace"}
"""What the kernel sends a process that takes more processor time, or writes a larger file."""


def opened_input(data: bytes) -> int:
    """Return a handle of what a command reads: nothing, or a file without a name."""
    if not data:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    handle = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
        os.lseek(handle, 0, os.SEEK_SET)
        fcntl.fcntl(
            handle,
            fcntl.F_ADD_SEALS,
            fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE,
        )
    except BaseException:
        os.close(handle)
        raise
    return handle


class Stream:
    """The reading end of a pipe, and what is kept of what came through.

    Args:
        handle: of the pipe; reading from it does not wait.
    """

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.produced = 0
        self._head = bytearray()
        self._tail = bytearray()

    def read(self) -> bool:
        """Take what is there, up to 64 KB; return whether more may come.

        Raises:
            BlockingIOError: nothing is there now.
        """
        chunk = os.read(self.handle, CHUNK_BYTES)
        self.produced += len(chunk)
        room = MAX_HEAD - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:] if room > 0 else chunk
        del self._tail[:-MAX_TAIL]
        return bool(chunk)

    def kept(self, size: int) -> Output:
        """Return at most `size` bytes of it, at most 64 KB."""
        if self.produced <= size:
            return Output(bytes(self._head + self._tail), self.produced)
        head = int(size * HEAD_SHARE)
        whole = self._head + self._tail
        tail = whole[len(whole) - (size - head) :]
        return Output(bytes(whole[:head] + tail), self.produced, cut_at=head)


def shared(streams: Sequence[Stream]) -> list[Output]:
    """Return what is kept of two streams."""
    half = MAX_STORED_BYTES // 2
    sizes = [max(half, MAX_STORED_BYTES - other.produced) for other in reversed(streams)]
    return [stream.kept(size) for stream, size in zip(streams, sizes, strict=True)]


def packed(completed: Completed) -> dict[str, Any]:
    """Return what came of a command as JSON can hold it."""
    content = asdict(completed)
    for name in ("stdout", "stderr"):
        content[name]["data"] = base64.b64encode(content[name]["data"]).decode()
    return content


def unpacked(content: dict[str, Any]) -> Completed:
    """Return what came of a command, from its JSON."""
    for name in ("stdout", "stderr"):
        output = content[name]
        data = base64.b64decode(output["data"])
        content[name] = Output(data, output["produced"], output["cut_at"])
    return Completed(**content)


def exit_of(code: int | None) -> tuple[int | None, int | None]:
    """Return the exit code, or the signal."""
    if code is None:
        return None, None
    if code < 0:
        return None, -code
    if code - SHELL_SIGNAL in signal.valid_signals():
        return None, code - SHELL_SIGNAL
    return code, None


def not_started(exc: OSError | ValueError) -> Completed | None:
    """Return what came of a command that the system does not take for one; None: it is our fault.

    It is too long, or holds a zero byte, which is whoever wrote it to blame for.
    """
    if isinstance(exc, OSError) and exc.errno != errno.E2BIG:
        return None
    text = "the command is too long" if isinstance(exc, OSError) else str(exc)
    data = f"sandbox: {text}\n".encode()
    return Completed(
        exit_code=NOT_STARTED,
        signal=None,
        ended_by="exit",
        stdout=Output(b"", 0),
        stderr=Output(data, len(data)),
        wall_ms=0,
        cpu_ms=0,
    )

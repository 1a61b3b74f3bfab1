"""What a program is started with, put right: descriptors 0 to 2, signals, output and errors.

Whoever starts a program may have closed its descriptors, blocked its signals, filled its disk or
gone away, and nothing of that may cost a run. A first file would get the descriptor of an error
stream and be written into; a blocked SIGCHLD would leave every wait for a child without an end.

Standard error never fails: text that cannot be written is dropped, and no secret is in any.
Standard output is data: that it could not be written is said once and ends a command with code 1,
unless nobody reads it any more (`| head`), or the command has more to do than to print.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import signal
import sys
from select import select
from typing import TYPE_CHECKING, TextIO

from schemas.errors import EXIT_BAD_NEWS
from schemas.redact import redact

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

MAX_UNREAD_BYTES = 1_000_000
"""Bytes made for a reader who has gone; past this a command is stopped: it may have no end."""

STUCK_S = 1.0
"""How long a terminal that takes nothing more may hold up a program."""

AS_JSON = "benchlake.as_json"
"""Name of what writes characters that an encoding lacks as JSON does; text shows them as well."""


class Outlet(io.FileIO):
    """A descriptor for writing that keeps going: after its first failure all is dropped."""

    def __init__(self, descriptor: int, *, is_data: bool) -> None:
        """Write to a descriptor, which stays open.

        Args:
            descriptor: 1 or 2.
            is_data: a failure is raised, once, where it is not that nobody reads any more.
        """
        super().__init__(descriptor, "wb", closefd=False)
        self.is_data = is_data
        self.trouble: OSError | None = None
        """Why nothing is written any more."""
        self._n_unread = 0

    def write(self, data: ReadableBuffer, /) -> int:
        """Return the number of bytes that were taken, or dropped.

        Raises:
            OSError: data could not be written, or nobody reads a great deal of it.
        """
        size = memoryview(data).nbytes
        if self.trouble is not None:
            return self._dropped(size, self.trouble)
        while True:
            try:
                return os.write(self.fileno(), data)
            except BlockingIOError:  # a terminal or pipe that does not wait, and is full
                if not select([], [self.fileno()], [], None if self.is_data else STUCK_S)[1]:
                    return size
            except OSError as exc:
                self.trouble = exc
                if self.is_data and exc.errno != errno.EPIPE:
                    raise
                return self._dropped(size, exc)

    def _dropped(self, size: int, trouble: OSError) -> int:
        before = self._n_unread
        self._n_unread += size
        if (
            self.is_data
            and trouble.errno == errno.EPIPE
            and before <= MAX_UNREAD_BYTES < self._n_unread
        ):
            raise trouble
        return size


class _Screen(io.TextIOWrapper):
    """Standard error: whatever program text it gets, a traceback too, it shows no secret."""

    def write(self, text: str, /) -> int:
        return super().write(redact(text))


def open_standard_streams() -> None:
    """Make descriptors, signals and streams what the rest of a program takes for granted.

    To be called before anything opens a file. Streams that somebody has put in place of the
    process's own stay.
    """
    _fill_descriptors()
    _free_signals()
    codecs.register_error(AS_JSON, _as_json)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdout is None or sys.stdout is sys.__stdout__:
        sys.stdout = _stream(1, sys.stdout, is_data=True)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = _stream(2, sys.stderr, is_data=False)


def spare_output() -> None:
    """From now on do not fail for what cannot be printed: a run has more to do."""
    if (outlet := _outlet()) is not None:
        outlet.is_data = False


def is_trouble_of_output(exc: OSError) -> bool:
    """Return whether an error is that standard output could not be written."""
    outlet = _outlet()
    return outlet is not None and outlet.trouble is exc


def closing_code(code: int) -> int:
    """Write what is left, say once that not all could be printed, and return the exit code.

    That is the command's own, or 1 where printing was all there was to do.
    """
    outlet = _outlet()
    try:
        sys.stdout.flush()
    except OSError:
        if outlet is None:
            raise
    if outlet is not None and (trouble := outlet.trouble) and trouble.errno != errno.EPIPE:
        sys.stderr.write(f"error: standard output: {trouble.strerror}\n")
        code = EXIT_BAD_NEWS if outlet.is_data else code
    sys.stderr.flush()
    return code


def _fill_descriptors() -> None:
    """Put /dev/null on those of 0 to 2 that are closed: the lowest free one is always taken."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, True)


def _free_signals() -> None:
    """Take back the signals that who started us had blocked, and the deaths he had ignored."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _stream(descriptor: int, was: TextIO | None, *, is_data: bool) -> io.TextIOWrapper:
    """Return a text stream like the one that was there, which keeps going."""
    made = io.TextIOWrapper if is_data else _Screen
    is_direct = getattr(was, "line_buffering", False) or getattr(was, "write_through", False)
    if was is not None:
        was.flush()
    return made(
        io.BufferedWriter(Outlet(descriptor, is_data=is_data)),
        encoding=was.encoding if was is not None else "utf-8",
        errors=AS_JSON if is_data else "backslashreplace",
        line_buffering=is_direct or not is_data,
    )


def _outlet() -> Outlet | None:
    """Return what is below standard output; None where somebody has put another stream there."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw if isinstance(raw, Outlet) else None


def _as_json(exc: UnicodeError) -> tuple[str, int]:
    if not isinstance(exc, UnicodeEncodeError):
        raise exc
    units = exc.object[exc.start : exc.end].encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    return "".join(f"\\u{pair}" for pair in pairs), exc.end

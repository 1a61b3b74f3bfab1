"""A shard's process that begins with what its coordinator knows: it imports and reads nothing.

Made by `fork` while the process that makes it has one thread and no event loop. The new one keeps
nothing open but the two pipes to it and its log, and never returns into what it was made of.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO

from schemas.io.own_files import open_own

TASKS = Path("/proc/self/task")
"""The threads of this process."""

ENDING_S = 0.2
"""How long the system may take to remove a thread that has ended and was waited for."""


class Forked:
    """A process that was made of this one, with what is used here of `subprocess.Popen`."""

    def __init__(self, pid: int, writing: int, reading: int) -> None:
        self.stdin: IO[bytes] | None = os.fdopen(writing, "wb", 0)
        self.stdout: IO[bytes] | None = os.fdopen(reading, "rb", 0)
        self._pid = pid
        self._handle = os.pidfd_open(pid)
        self._code: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit code, negative for the signal that ended it.

        Raises:
            subprocess.TimeoutExpired: it still runs after so many seconds.
        """
        if self._code is None:
            if not select.select([self._handle], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(sys.argv, timeout or 0)
            self._code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
            os.close(self._handle)
        return self._code

    def kill(self) -> None:
        """End it now."""
        if self._code is None:
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)


def may_fork() -> bool:
    """Return whether a process made of this one would be whole: on Linux, of one thread.

    Threads that have ended are waited for: `join` returns before the system has removed them.
    """
    if not hasattr(os, "pidfd_open"):
        return False
    until = time.monotonic() + ENDING_S
    try:
        while len([*TASKS.iterdir()]) > 1:
            if threading.active_count() > 1 or time.monotonic() > until:
                return False
            time.sleep(0.001)
    except OSError:
        return False
    return True


def forked(run_dir: Path, entry: Callable[[], int]) -> Forked:
    """Make a process of this one, in a session of its own; its errors go to the folder's run.log.

    Args:
        run_dir: its folder.
        entry: what it does, with the pipes as its standard input and output; its exit code.

    Raises:
        OSError: the system has no room for it.
    """
    log = open_own(run_dir, "run.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    of_child, writing = os.pipe()
    reading, to_parent = os.pipe()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
        gc.freeze()  # what is there is shared for as long as no look for cycles writes to it
        if (pid := os.fork()) == 0:
            _never_return((of_child, to_parent, log), entry)
        gc.unfreeze()
    except BaseException:
        os.close(writing)
        os.close(reading)
        raise
    finally:
        for handle in (of_child, to_parent, log):
            os.close(handle)
    return Forked(pid, writing, reading)


def _never_return(handles: tuple[int, int, int], entry: Callable[[], int]) -> None:
    """Do what the new process is for and end it, whatever happens."""
    code = 1
    try:
        os.setsid()
        for number, handle in enumerate(handles):
            os.dup2(handle, number)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = entry()
    except BaseException:  # noqa: BLE001 - it must not go on as what it was made of
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)

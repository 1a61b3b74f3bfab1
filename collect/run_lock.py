"""One collector at a time works on a run; the kernel lets go of the lock with the process."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from schemas.errors import CollectError, RunBusy
from schemas.io.files import unwritable
from schemas.io.own_files import open_own

LOCK_FILE = ".run.lock"
"""Holds the process id of the collector at work, for the message to the next one."""


def lock_run(run_dir: Path) -> int:
    """Return a handle that holds the run's lock.

    Raises:
        RunBusy: another collector holds it.
        CollectError: the file system has no locks, or refuses this one.
    """
    path = run_dir / LOCK_FILE
    try:
        handle = open_own(run_dir, LOCK_FILE, os.O_CREAT | os.O_RDWR)
    except OSError as exc:
        raise unwritable(path, exc, "a run is completed where it can be written") from exc
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        said = os.pread(handle, 20, 0).strip()
        os.close(handle)
        if isinstance(exc, BlockingIOError):
            raise RunBusy(run_dir, int(said) if said.isdigit() else None) from exc
        message = f"{path} cannot be locked: {exc.strerror}; choose another --runs"
        raise CollectError(message) from exc
    with contextlib.suppress(OSError):  # a full disk: the lock holds, only its text is missing
        os.ftruncate(handle, 0)
        os.pwrite(handle, b"%d\n" % os.getpid(), 0)
    return handle

"""The lock of a run's rows: one process at a time brings a run into the lake."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from pathlib import Path, PurePosixPath

from schemas.errors import BenchError, NotOwnFile
from schemas.io.disk import READ_ONLY
from schemas.io.own_files import make_own_folder, open_own

LOCK_POLL_S = 0.1

LOCK_FILE = ".mirror.lock"


class MirrorBusy(BenchError):
    """Another process is mirroring this run at the moment."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__(f"{run_dir}: another process is writing this run to the lake")


def lock_run(run_dir: Path, lake: Path, wait_s: float = 0.0, *, outside: bool = False) -> int:
    """Return a handle that holds a run's lock; the kernel lets go of it with the process.

    Args:
        run_dir: the run's folder, which holds the lock unless it cannot be written.
        lake: holds the lock otherwise.
        wait_s: seconds to wait for another process.
        outside: write nothing into the folder, which is another tool's.

    Raises:
        MirrorBusy: another process holds it.
        OSError: neither can be written.
    """
    handle = _open(run_dir, lake, outside)
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            if time.monotonic() >= deadline:
                os.close(handle)
                raise MirrorBusy(run_dir) from exc
            time.sleep(LOCK_POLL_S)
        except OSError:
            os.close(handle)
            raise
        else:
            return handle


def _open(run_dir: Path, lake: Path, outside: bool) -> int:
    flags = os.O_CREAT | os.O_RDWR
    if not outside:
        try:
            return open_own(run_dir, LOCK_FILE, flags)
        except OSError as exc:
            if exc.errno not in READ_ONLY:
                raise
        with contextlib.suppress(OSError):
            return open_own(run_dir, LOCK_FILE, os.O_RDONLY)  # of another user, who may hold it
    name = _outside(run_dir)
    make_own_folder(lake, str(PurePosixPath(name).parent))
    return open_own(lake, name, flags)


def _outside(run_dir: Path) -> str:
    """Return where in the lake the lock of a folder lies that is not written into."""
    return f"manifest/locks/{hashlib.sha256(os.fsencode(run_dir.name)).hexdigest()[:16]}"


def is_locked(run_dir: Path, lake: Path) -> bool:
    """Return whether a process holds a run's lock at the moment; there may be no such folder."""
    for folder, name in ((run_dir, LOCK_FILE), (lake, _outside(run_dir))):
        try:
            handle = open_own(folder, name, os.O_RDONLY)
        except (OSError, NotOwnFile):
            continue  # nobody has ever mirrored it from here
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
    return False

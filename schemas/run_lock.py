"""The lock of a run's rows: one process at a time brings a run into the lake."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from pathlib import Path

from schemas.disk import READ_ONLY
from schemas.errors import BenchError

LOCK_POLL_S = 0.1


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
    flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
    if not outside:
        inside = run_dir / ".mirror.lock"
        try:
            return os.open(inside, flags, 0o644)
        except OSError as exc:
            if exc.errno not in READ_ONLY:
                raise
        with contextlib.suppress(OSError):
            return os.open(inside, os.O_RDONLY | os.O_CLOEXEC)  # of another user, who may hold it
    path = _outside(run_dir, lake)
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, flags, 0o644)


def _outside(run_dir: Path, lake: Path) -> Path:
    """Return where the lock of a folder lies that is not written into."""
    name = hashlib.sha256(os.fsencode(run_dir.name)).hexdigest()[:16]
    return lake / "manifest" / "locks" / name


def is_locked(run_dir: Path, lake: Path) -> bool:
    """Return whether a process holds a run's lock at the moment; there may be no such folder."""
    for path in (run_dir / ".mirror.lock", _outside(run_dir, lake)):
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue  # nobody has ever mirrored it from here
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
    return False

"""Writes that survive a power cut: a file's content, and the names in a folder."""

from __future__ import annotations

import errno
import os
import uuid
from pathlib import Path

READ_ONLY = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""Reasons to read a lake as it is, and leave it so, instead of giving up."""


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file's content: all of it or nothing, also when the power goes.

    Raises:
        OSError: it cannot be written; the old content stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".tmp-{uuid.uuid4().hex[:12]}")
    try:
        temporary.write_bytes(content)
        sync_path(temporary)
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_path(path.parent)


def sync_path(path: Path) -> None:
    """Wait until a file's content, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

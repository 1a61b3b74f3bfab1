"""How much is in folders that a hostile model may have filled.

Standard library only: the helper loads this.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from collect.workspace.handles import MAX_DEPTH, opened_folder

ENTRIES_A_STEP = 200
"""Looked at before the helper may do something else."""

BLOCK_BYTES = 512
"""The unit of `st_blocks`, whatever the file system's own."""


@dataclass(slots=True)
class Usage:
    """What lies in some folders, as far as it was counted."""

    size: int = 0
    """Bytes on the disk."""
    files: int = 0
    """Files, folders and whatever else has a name."""
    is_too_deep: bool = False


def usage(folders: Sequence[str], *, opens: bool) -> Generator[Usage]:
    """Count what lies in folders, step by step; every value is the same object, still growing.

    What disappears meanwhile is not counted, and a folder that is missing counts nothing.

    Args:
        folders: by their paths.
        opens: whether a folder that is closed to its owner is opened for a look, and closed again.
    """
    found = Usage()
    for path in folders:
        with contextlib.suppress(OSError), opened_folder(path, None, opens=opens) as handle:
            yield from _count(handle, found, 0, opens=opens)
    yield found


def _count(folder: int, found: Usage, depth: int, *, opens: bool) -> Generator[Usage]:
    if depth > MAX_DEPTH:
        found.is_too_deep = True
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            found.files += 1
            try:
                found.size += entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES
            except OSError:
                continue
            if found.files % ENTRIES_A_STEP == 0:
                yield found
            if entry.is_dir(follow_symlinks=False):
                with (
                    contextlib.suppress(OSError),
                    opened_folder(entry.name, folder, opens=opens) as handle,
                ):
                    yield from _count(handle, found, depth + 1, opens=opens)

"""What a reader does about a damaged file of the lake: sets it aside, else goes on without it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.errors import DamagedFile, counted, display_path, printable, runs_flag
from schemas.io.files import READ_ONLY
from schemas.lake import Lake, find_damaged, leave_out

if TYPE_CHECKING:
    from analyze.lake.sync import Synced

LineProgress = Callable[[str], None]
"""Takes a line for the user."""

MAX_NAMED_FILES = 5
"""Damaged files that are told of one by one; each has a note beside it in the quarantine."""


def on_stderr(line: str) -> None:
    """Write a line for the user to standard error."""
    sys.stderr.write(f"{line}\n")


def settle(lake: Path, *, writes: bool, progress: LineProgress | None = None) -> bool:
    """Put damaged files out of the way of readers; return whether there were any new ones.

    Reads the whole lake: for after an error of a reader, never before one. What another process
    sets aside at the moment is waited for.

    Args:
        lake: the lake.
        writes: set them aside and make their rows again; else they are left out and named.
        progress: by default it goes to standard error.

    Raises:
        BenchError: another process is at the lake.
        OSError: the lake cannot be written, for another reason than that it must not be.
    """
    opened = Lake(lake)
    found = [one for one in find_damaged(opened) if one.path.is_file()]
    say = progress or on_stderr
    is_done = writes and _set_aside(lake, found, say)
    return bool(found) and (is_done or _left_out(opened, found, say))


def report_quarantined(synced: Synced, progress: Callable[[str], None]) -> None:
    """Say which files of the lake were damaged, and what became of their rows."""
    for one in synced.set_aside[:MAX_NAMED_FILES]:
        progress(f"warning: {printable(one)}")
    if more := len(synced.set_aside[MAX_NAMED_FILES:]):
        progress(
            f"warning: {counted(more, 'more damaged file was', 'more damaged files were')} found"
        )


def _set_aside(lake: Path, found: Sequence[DamagedFile], progress: LineProgress) -> bool:
    from analyze.lake.sync import sync  # noqa: PLC0415 - loads pyarrow

    try:
        synced = sync(lake.parent, damaged=found)
    except OSError as exc:
        if exc.errno in READ_ONLY:
            return False
        raise
    report_quarantined(synced, progress)
    return not synced.read_only


def _left_out(lake: Lake, found: Sequence[DamagedFile], progress: LineProgress) -> bool:
    new = frozenset(leave_out(one.path for one in found))
    again = shlex.join(["analyze", "sync", *runs_flag(lake.lake.parent)])
    for one in found:
        if one.path in new:
            file = lake.file(one.path.relative_to(lake.lake).as_posix())
            n_rows = file.n_rows if file is not None else 0
            what = f" ({counted(n_rows, 'row')} of {one.path.parent.parent.name})" * bool(n_rows)
            progress(
                f"warning: {printable(f'{display_path(one.path)}: {one.found}')}; "
                f"it is left out{what}, "
                f"so what is shown is not all; `{again}` sets it aside and makes its rows again"
            )
    return bool(new)

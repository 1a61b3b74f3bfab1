"""Damaged files of lakes that this process may not write: its readers go on without them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_left_out: dict[str, tuple[int, int]] = {}
"""Absolute path to size and time: another file by the same name is read."""


def leave_out(paths: Iterable[Path]) -> list[Path]:
    """Let readers of this process go on without some files; return those that are new to it."""
    new = []
    for path in paths:
        look = _size_and_time(path)
        if look is not None and _left_out.get(str(path.absolute())) != look:
            _left_out[str(path.absolute())] = look
            new.append(path)
    return new


def without_left_out(paths: Iterable[Path]) -> list[Path]:
    """Return the files that are to be read."""
    if not _left_out:
        return list(paths)
    return [path for path in paths if not is_left_out(path)]


def is_left_out(path: Path) -> bool:
    """Return whether readers go on without a file."""
    known = _left_out.get(str(path.absolute()))
    return known is not None and known == _size_and_time(path)


def _size_and_time(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_size, facts.st_mtime_ns

"""Reads the workspace an agent starts in: every file by content, nothing from outside it.

Empty folders and file modes are not part of a workspace: git does not keep the first, and the
second differ between machines.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from schemas.config.agent import WORKSPACE_FILES, placeholder
from schemas.errors import ConfigError, Problem
from schemas.io.yaml import printable, read_bytes

FILE_LIMIT = 8_000_000
TOTAL_LIMIT = 64_000_000
COUNT_LIMIT = 2_000
DEPTH_LIMIT = 16


class WorkspaceEntry(NamedTuple):
    """One file that an agent's workspace starts with."""

    relative_path: str
    source: Literal["template", "placeholder"]
    sha256: str
    size_bytes: int


@dataclass
class _Walk:
    root: Path
    entries: list[WorkspaceEntry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    total: int = 0


def read_workspace(root: Path) -> tuple[tuple[WorkspaceEntry, ...], list[Problem]]:
    """Return a workspace's files, placeholders for the standard ones it lacks, and problems."""
    walk = _Walk(root)
    if root.is_symlink() or not root.is_dir():
        what = "an agent needs a `workspace` folder beside agent.yaml (not a link)"
        return (), [Problem(root, what)]
    _visit(root, walk, 1)
    return _filled(walk.entries), walk.problems


def _filled(entries: list[WorkspaceEntry]) -> tuple[WorkspaceEntry, ...]:
    """Return the entries with placeholders for the standard files that are missing, sorted."""
    there = {entry.relative_path for entry in entries}
    fill = [_entry(name, "placeholder", placeholder(name).encode()) for name in WORKSPACE_FILES]
    return tuple(sorted([*entries, *(entry for entry in fill if entry[0] not in there)]))


def _entry(name: str, source: Literal["template", "placeholder"], raw: bytes) -> WorkspaceEntry:
    return WorkspaceEntry(name, source, hashlib.sha256(raw).hexdigest(), len(raw))


def _visit(folder: Path, walk: _Walk, depth: int) -> None:
    """Add the files below a folder; links count as what they lead to, inside the workspace."""
    if depth > DEPTH_LIMIT:
        walk.problems.append(Problem(folder, f"lies deeper than {DEPTH_LIMIT} folders"))
        return
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208  # names are all that is wanted
    except OSError as exc:
        walk.problems.append(Problem(folder, f"cannot be read: {exc.strerror}"))
        return
    for name in names:
        if len(walk.entries) >= COUNT_LIMIT or walk.total > TOTAL_LIMIT:
            break
        path = folder / name
        if what := _refused(path, walk.root):
            shown = folder / printable(os.fsencode(name).decode(errors="replace"), 200)
            walk.problems.append(Problem(shown, what))
        elif path.is_dir():
            _visit(path, walk, depth + 1)
        else:
            _add(path, walk)


def _refused(path: Path, root: Path) -> str | None:
    """Return why a thing in a workspace cannot be copied into a trial, or None."""
    try:
        path.name.encode()
    except UnicodeEncodeError:
        return "has a name that is not UTF-8"
    if not path.is_symlink():
        return None
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return "is a link that leads nowhere"
    if not target.is_relative_to(root.resolve()):
        return "is a link that leaves the workspace"
    return "is a link to a folder; put the files there" if target.is_dir() else None


def _add(path: Path, walk: _Walk) -> None:
    try:
        raw = read_bytes(path, FILE_LIMIT)
    except ConfigError as exc:
        walk.problems += exc.problems
        return
    walk.entries.append(_entry(path.relative_to(walk.root).as_posix(), "template", raw))
    walk.total += len(raw)
    if walk.total > TOTAL_LIMIT:
        what = f"a workspace holds at most {TOTAL_LIMIT:,} bytes"
        walk.problems.append(Problem(walk.root, what))
    elif len(walk.entries) >= COUNT_LIMIT:
        what = f"a workspace holds fewer than {COUNT_LIMIT:,} files"
        walk.problems.append(Problem(walk.root, what))

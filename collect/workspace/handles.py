"""Handles of what a hostile model may have made: files, folders, and where a name leads.

Every name is opened relative to the folder it was found in and never through a link, so that
nothing that is moved or replaced meanwhile leads anywhere else. Pipes and devices are never opened
for reading: what a file is, is asked of a handle without any right, and that is what is read.
Standard library only: the helper of the sandbox loads this.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_DEPTH = 100
"""Folders in folders; each level holds a file handle while it is looked at."""

MAX_LINKS = 40
"""Links that a name may lead through, as in the kernel."""

SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Of this process or machine, which no file can be blamed for."""

_OWN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
FOLDER = os.O_RDONLY | os.O_DIRECTORY | _OWN
FILE = os.O_RDONLY | _OWN
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def opened_folder(name: str | bytes, parent: int | None, *, opens: bool) -> Iterator[int]:
    """Hold a handle of a folder.

    Args:
        name: in `parent`, or a path.
        parent: handle of a folder; None: of no matter.
        opens: also one without permission, which is put back.

    Raises:
        OSError: it is no folder, or cannot be opened.
    """
    try:
        handle = os.open(name, FOLDER, dir_fd=parent)
        mode = None
        if opens and not os.access(".", os.X_OK, dir_fd=handle, effective_ids=True):
            mode = _open_up(handle)
    except PermissionError:
        if not opens:
            raise
        handle, mode = _forced(name, parent, FOLDER, 0o700)
    try:
        yield handle
    finally:
        if mode is not None:
            with contextlib.suppress(OSError):
                os.fchmod(handle, mode)
        os.close(handle)


@contextlib.contextmanager
def opened_file(
    name: str | bytes, parent: int, *, opens: bool
) -> Iterator[tuple[int, os.stat_result]]:
    """Hold a handle of a regular file to read, and what it is; `opens` as for a folder.

    Raises:
        OSError: it is no regular file, or cannot be opened.
    """
    place = os.open(name, getattr(os, "O_PATH", os.O_RDONLY) | _OWN, dir_fd=parent)
    try:
        facts = os.fstat(place)
        if not stat.S_ISREG(facts.st_mode):
            raise PermissionError(name)
        try:
            handle, mode = os.open(_name_of(place), FILE & ~os.O_NOFOLLOW), None
        except PermissionError:
            if not opens:
                raise
            handle, mode = _forced_at(place, FILE, 0o600)
    finally:
        os.close(place)
    try:
        yield handle, facts
    finally:
        if mode is not None:
            with contextlib.suppress(OSError):
                os.fchmod(handle, mode)
        os.close(handle)


def _open_up(handle: int) -> int:
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    os.fchmod(handle, mode | 0o700)
    return mode


def _forced(name: str | bytes, parent: int | None, flags: int, mode: int) -> tuple[int, int]:
    """Return a handle of a file or folder of ours without permission to read, and its mode.

    A handle without any right to read or write leads to the same file even when its name has been
    given to another one.
    """
    place = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        return _forced_at(place, flags, mode)
    finally:
        os.close(place)


def _forced_at(place: int, flags: int, mode: int) -> tuple[int, int]:
    before = os.fstat(place).st_mode
    if stat.S_ISLNK(before):
        raise PermissionError(place)
    os.chmod(_name_of(place), mode)  # noqa: PTH101 - a handle
    try:
        return os.open(_name_of(place), flags & ~os.O_NOFOLLOW), stat.S_IMODE(before)
    except OSError:
        os.chmod(_name_of(place), stat.S_IMODE(before))  # noqa: PTH101
        raise


def _name_of(handle: int) -> str:
    return f"/proc/self/fd/{handle}" if hasattr(os, "O_PATH") else f"/dev/fd/{handle}"


def stays_inside(link: bytes, depth: int) -> bool:
    """Return whether a link `depth` folders below the top leads to something below the top.

    `..` counts at the beginning alone: behind a name it would go up from wherever that, a link
    itself, leads to.
    """
    parts = parts_of(link)
    ups = next((place for place, part in enumerate(parts) if part != b".."), len(parts))
    return not link.startswith(b"/") and ups <= depth and b".." not in parts[ups:]


def parts_of(path: bytes) -> list[bytes]:
    """Return the names in a path; empty ones and `.` are none."""
    return [part for part in path.split(b"/") if part not in {b"", b"."}]


@dataclass(slots=True)
class Place:
    """Where a path leads below a root, while it is held."""

    parent: int
    """Handle of the folder that it lies in."""
    name: bytes = b"."
    """In the parent."""
    parts: tuple[bytes, ...] = ()
    """Its real path below the root, without links; empty: the root itself."""
    facts: os.stat_result | None = None
    """What is there; None: nothing."""
    links: list[tuple[tuple[bytes, ...], bytes]] = field(default_factory=list)
    """The links on the way: the real path of each, and what it leads to."""
    leads_out: bool = False
    """It goes above the root, or a link does or is absolute: the last one of `links`."""


class _Way:
    """The folders from a root down to where a path has come, each with a handle."""

    def __init__(self, root: int, *, opens: bool) -> None:
        self.names: list[bytes] = []
        self._root, self._opens = root, opens
        self._levels: list[tuple[int, contextlib.ExitStack]] = []

    @property
    def handle(self) -> int:
        return self._levels[-1][0] if self._levels else self._root

    def down(self, name: bytes) -> None:
        stack = contextlib.ExitStack()
        handle = stack.enter_context(opened_folder(name, self.handle, opens=self._opens))
        self._levels.append((handle, stack))
        self.names.append(name)

    def up(self) -> None:
        self.names.pop()
        self._levels.pop()[1].close()

    def close(self) -> None:
        while self._levels:
            self.up()


@contextlib.contextmanager
def found_place(root: int, path: bytes, *, opens: bool, follows: bool = True) -> Iterator[Place]:
    """Hold the place that a path leads to, name by name and through links that stay inside.

    A path through too many links, through a file, or too deep leads to nothing.

    Args:
        root: handle of a folder, above which nothing leads.
        path: below it.
        opens: folders on the way without permission are opened, and put back.
        follows: a link at the very end is followed too.

    Raises:
        OSError: something on the way cannot be looked at.
    """
    place = Place(root)
    todo = parts_of(path)[::-1]
    with contextlib.closing(_Way(root, opens=opens)) as way:
        while todo and not place.leads_out and len(place.links) <= MAX_LINKS:
            name = todo.pop()
            if name == b"..":
                if way.names:
                    way.up()
                else:
                    place.leads_out = True
                continue
            facts = facts_of(name, way.handle)
            is_folder = facts is not None and stat.S_ISDIR(facts.st_mode)
            if facts is not None and stat.S_ISLNK(facts.st_mode) and (todo or follows):
                leads_to = os.readlink(name, dir_fd=way.handle)
                place.links.append(((*way.names, name), leads_to))
                place.leads_out = not stays_inside(leads_to, len(way.names))
                todo += parts_of(leads_to)[::-1]
            elif todo and is_folder and len(way.names) < MAX_DEPTH:
                way.down(name)
            else:
                place.parts, place.name = (*way.names, name), name
                place.parent, place.facts = way.handle, None if todo else facts
                yield place
                return
        if not todo and not place.leads_out:
            place.parts, place.parent = tuple(way.names), way.handle
            place.facts = os.fstat(way.handle)
        yield place


def facts_of(name: bytes, parent: int) -> os.stat_result | None:
    """Return what a name in a folder is, of a link itself; None: nothing is there.

    Raises:
        OSError: it cannot be looked at.
    """
    if b"\0" in name:
        return None
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError as exc:
        if exc.errno in {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}:
            return None
        raise

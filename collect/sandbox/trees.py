"""Folders that a hostile model may have filled: how much is in them, and a copy that is safe.

Every name is opened relative to the folder it was found in and never through a link, so that
nothing that is moved or replaced meanwhile leads anywhere else. Standard library only: the helper
loads this.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

MAX_DEPTH = 100
"""Folders in folders; each level holds a file handle while it is looked at."""

ENTRIES_A_STEP = 200
"""Looked at before the helper may do something else."""

BLOCK_BYTES = 512
"""The unit of `st_blocks`, whatever the file system's own."""

CHUNK_BYTES = 1 << 20

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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
        with contextlib.suppress(OSError), _opened(path, None, opens=opens) as handle:
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
                    _opened(entry.name, folder, opens=opens) as handle,
                ):
                    yield from _count(handle, found, depth + 1, opens=opens)


@contextlib.contextmanager
def _opened(name: str, parent: int | None, *, opens: bool) -> Iterator[int]:
    """Hold a handle of a folder; with `opens` of one without permission too, which is put back."""
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


def _open_up(handle: int) -> int:
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    os.fchmod(handle, mode | 0o700)
    return mode


def _forced(name: str, parent: int | None, flags: int, mode: int) -> tuple[int, int]:
    """Return a handle of a file or folder of ours without permission to read, and its mode.

    A handle without any right to read or write leads to the same file even when its name has been
    given to another one.
    """
    place = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        before = os.fstat(place).st_mode
        if stat.S_ISLNK(before):
            raise PermissionError(name)
        own_name = f"/proc/self/fd/{place}"
        os.chmod(own_name, mode)  # noqa: PTH101 - a handle
        try:
            return os.open(own_name, flags & ~os.O_NOFOLLOW), stat.S_IMODE(before)
        except OSError:
            os.chmod(own_name, stat.S_IMODE(before))  # noqa: PTH101
            raise
    finally:
        os.close(place)


@dataclass(slots=True)
class Copy:
    """What may still be copied, and where to."""

    target: str
    size: int
    """Bytes in all."""
    files: int
    file_size: int
    """Bytes of one file; a larger one is left out."""
    is_made: bool = False


def copy_tree(source: str, copy: Copy) -> bool:
    """Copy files, folders and links that stay inside; return whether anything was there to copy.

    Nothing runs any more in what is copied. Devices, pipes and sockets are left out, links that are
    absolute or lead out, and what is past the limits. Files are 0644, or 0755 where their owner may
    execute them, folders 0755.

    Raises:
        OSError: the copy cannot be written.
    """
    with contextlib.suppress(_Unreadable), _readable(source, None) as handle:
        _copy(handle, copy, None, 0)
    return copy.is_made


class _Unreadable(Exception):
    """The source is not there, or cannot be read even by its owner."""


@contextlib.contextmanager
def _readable(name: str, parent: int | None) -> Iterator[int]:
    stack = contextlib.ExitStack()
    try:
        handle = stack.enter_context(_opened(name, parent, opens=True))
    except OSError as exc:
        raise _Unreadable from exc
    with stack:
        yield handle


def _copy(source: int, copy: Copy, target: int | None, depth: int) -> None:
    """Copy what is in a folder; the target is None as long as it has not been made."""
    names = []
    with contextlib.suppress(OSError), os.scandir(source) as entries:
        names = sorted(entry.name for entry in entries)
    made = target
    with contextlib.ExitStack() as stack:
        for name in names:
            if copy.files <= 0:
                break
            try:
                facts = os.stat(name, dir_fd=source, follow_symlinks=False)
            except OSError:
                continue
            kind = stat.S_IFMT(facts.st_mode)
            if kind not in {stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}:
                continue
            if made is None:
                os.makedirs(copy.target, 0o755)  # noqa: PTH103 - any bytes
                made, copy.is_made = os.open(copy.target, FOLDER), True
                stack.callback(os.close, made)
            copy.files -= 1
            _copy_entry(source, name, copy, made, depth, kind=kind)


def _copy_entry(source: int, name: str, copy: Copy, made: int, depth: int, *, kind: int) -> None:
    """Copy one file, folder or link; a folder too deep down is left out."""
    if kind == stat.S_IFDIR and depth < MAX_DEPTH:
        os.mkdir(name, 0o755, dir_fd=made)
        with contextlib.suppress(_Unreadable), _readable(name, source) as inner:
            below = os.open(name, FOLDER, dir_fd=made)
            try:
                _copy(inner, copy, below, depth + 1)
            finally:
                os.close(below)
    elif kind == stat.S_IFLNK:
        leads_to = os.readlink(name, dir_fd=source)
        if stays_inside(leads_to, depth):
            os.symlink(leads_to, name, dir_fd=made)
    elif kind == stat.S_IFREG:
        _copy_file(source, name, copy, made)


def stays_inside(link: str, depth: int) -> bool:
    """Return whether a link `depth` folders below the top leads to something below the top.

    `..` counts at the beginning alone: behind a name it would go up from wherever that, a link
    itself, leads to.
    """
    parts = [part for part in link.split("/") if part not in {"", "."}]
    ups = next((place for place, part in enumerate(parts) if part != ".."), len(parts))
    return not link.startswith("/") and ups <= depth and ".." not in parts[ups:]


def _copy_file(source: int, name: str, copy: Copy, target: int) -> None:
    try:
        try:
            handle = os.open(name, FILE, dir_fd=source)
        except PermissionError:
            handle, _ = _forced(name, source, FILE, 0o600)
    except OSError:
        return
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > min(copy.file_size, copy.size):
            return
        mode = 0o755 if facts.st_mode & stat.S_IXUSR else 0o644
        made = os.open(name, NEW_FILE, mode, dir_fd=target)
        try:
            while chunk := os.read(handle, CHUNK_BYTES):
                copy.size -= len(chunk)
                while chunk:
                    chunk = chunk[os.write(made, chunk) :]
        finally:
            os.close(made)
    finally:
        os.close(handle)

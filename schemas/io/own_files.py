"""Files of a run's folder and of the lake, opened as what they are: never through a link.

Folders are handed around, and what is in one may lead out of it: a link, another name of a file
that lies elsewhere, a pipe that would be waited for. The folder itself may be reached through a
link, which the user made; nothing inside of it is. Standard library only.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from schemas.errors import NotOwnFile, display_path

WRITING = os.O_WRONLY | os.O_RDWR
"""Flags of which a handle that can write has one."""

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

LINK = (
    "is a symbolic link; a run's folder and the lake hold their own files only: "
    "put the file itself in its place"
)

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_own(folder: Path, name: str, flags: int) -> int:
    """Return a handle of a regular file below a folder.

    Args:
        folder: of a run, or the lake; it may be reached through a link.
        name: of the file, with `/` between the parts; no part of it may be a link.
        flags: of `os.open`.

    Raises:
        NotOwnFile: a part is a link, the file is no regular one, or it is to be written to and
            has another name elsewhere.
        OSError: it cannot be opened.
    """
    *folders, last = PurePosixPath(name).parts
    path = folder / name
    handle = os.open(folder, FOLDER)
    try:
        for place, part in enumerate(folders):
            inner = _open(folder.joinpath(*folders[: place + 1]), part, FOLDER, handle)
            os.close(handle)
            handle = inner
        file = _open(path, last, flags & ~os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK, handle)
    finally:
        os.close(handle)
    try:
        refuse_other(path, os.fstat(file), writing=bool(flags & WRITING))
        os.set_blocking(file, True)
        if flags & os.O_TRUNC:  # not before it is known to be ours
            os.ftruncate(file, 0)
    except BaseException:
        os.close(file)
        raise
    return file


def _open(path: Path, name: str, flags: int, folder: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW, 0o644, dir_fd=folder)
    except OSError as exc:
        exc.filename = str(path)
        try:
            facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            raise exc from None
        if stat.S_ISLNK(facts.st_mode):
            raise NotOwnFile(path, LINK) from exc
        if exc.errno in {errno.ENXIO, errno.EISDIR}:  # a pipe nobody reads, a folder
            refuse_other(path, facts)
        raise


def refuse_other(path: Path, facts: os.stat_result, *, writing: bool = False) -> None:
    """Refuse what is no file of its folder's own.

    A file that is written to must have no other name: appending to it, or cutting it, would change
    what lies elsewhere, such as a copy that was made of hard links.

    Raises:
        NotOwnFile: says what it is instead.
    """
    kind = stat.S_IFMT(facts.st_mode)
    if kind == stat.S_IFLNK:
        raise NotOwnFile(path, LINK)
    if kind != stat.S_IFREG:
        found = KINDS.get(kind, "something else")
        raise NotOwnFile(path, f"is no regular file but {found}; move it away")
    if writing and facts.st_nlink > 1:
        name = shlex.quote(display_path(path))
        again = f"cp -p {name} {name}.own && mv {name}.own {name}"
        what = f"has {facts.st_nlink} names (hard links), and all would change; `{again}` parts it"
        raise NotOwnFile(path, what)


def open_own_file(folder: Path, name: str) -> BinaryIO:
    """Return a file below a folder, open for reading; raises as `open_own`."""
    return os.fdopen(open_own(folder, name, os.O_RDONLY), "rb")


def read_own(folder: Path, name: str) -> bytes:
    """Return what a file below a folder holds; raises as `open_own`."""
    with open_own_file(folder, name) as file:
        return file.read()


def make_own_folder(folder: Path, name: str) -> Path:
    """Return a folder below another one, made where it is missing; no part of it is a link.

    Raises:
        NotOwnFile: a part of it is a link, or a file.
        OSError: it cannot be made.
    """
    inner = folder
    folder.mkdir(parents=True, exist_ok=True)
    for part in PurePosixPath(name).parts:
        inner /= part
        try:
            inner.mkdir()
        except FileExistsError:
            mode = inner.lstat().st_mode
            if stat.S_ISLNK(mode):
                raise NotOwnFile(inner, LINK) from None
            if not stat.S_ISDIR(mode):
                raise NotOwnFile(inner, "is no folder; move it away") from None
    return inner


def require_own_files(
    folder: Path, files: Iterable[str], *, written: Iterable[str] = (), folders: Iterable[str] = ()
) -> None:
    """Refuse a folder in which something is not what it has to be, by its name.

    Args:
        folder: of a run, or the lake.
        files: what is a regular file, where it is there.
        written: what is one and is going to be written to.
        folders: what is a folder; what lies in it is looked at as in `folder`.

    Raises:
        NotOwnFile: there is a link, or something that is no regular file by the name of one.
        OSError: the folder cannot be read.
    """
    known, growing, inner = set(files), set(written), set(folders)
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        path, facts = folder / entry.name, entry.stat(follow_symlinks=False)
        if entry.name in inner:
            if not stat.S_ISDIR(facts.st_mode):
                what = LINK if entry.is_symlink() else "is no folder; move it away"
                raise NotOwnFile(path, what)
            mine = {one.name for one in os.scandir(path)}
            require_own_files(path, mine, written=mine if entry.name in growing else ())
        elif entry.name in known | growing or not stat.S_ISDIR(facts.st_mode):
            refuse_other(path, facts, writing=entry.name in growing)


LOCK_POLL_S = 0.05
"""Between two looks at a lock that is waited for with a limit."""


def take_lock(handle: int, wait_s: float | None = None) -> None:
    """Take the lock of an open file or folder; it ends with the process, or when that is closed.

    Another process is waited for `wait_s` seconds; None: as long as it takes.

    Raises:
        BlockingIOError: another process holds it still.
        OSError: the file system has no locks, or refuses this one.
    """
    if wait_s is None:
        fcntl.flock(handle, fcntl.LOCK_EX)
        return
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(LOCK_POLL_S)
        else:
            return


def is_lock_held(handle: int) -> bool:
    """Return whether another process holds the lock of an open file at the moment."""
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


@contextmanager
def locked(folder: Path, name: str, wait_s: float | None = None) -> Iterator[None]:
    """Hold the lock of a file below a folder, both made where they are missing; as `take_lock`.

    Raises:
        BlockingIOError: another process holds it still.
        NotOwnFile: a part of the name is a link.
        OSError: the folder cannot be written.
    """
    make_own_folder(folder, str(PurePosixPath(name).parent))
    handle = open_own(folder, name, os.O_CREAT | os.O_RDWR)
    try:
        take_lock(handle, wait_s)
        yield
    finally:
        os.close(handle)

"""Files that survive a crash or a power cut: whole or not there, appended or taken back.

What cannot be written ends the run with a sentence; what was finished before stays as it was. What
a machine has too little of (open files, memory) is a sentence as well.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from schemas.errors import BenchError, CollectError
from schemas.io.own_files import open_own

TOO_MANY_FILES = frozenset({errno.EMFILE, errno.ENFILE})

FILES_TEXT = re.compile(r"too many open files", re.IGNORECASE)
"""What engines say, whose errors carry no number."""

MEMORY_TEXT = re.compile(
    r"out of memory|cannot allocate memory|allocation fail|failed to allocate|memory allocation|"
    r"malloc of size|failed to map segment|bad_?alloc|can't start new thread",
    re.IGNORECASE,
)

MIN_FILES = 256
"""That a command surely gets along with."""

MIN_ADDRESS_BYTES = 1_500 * 2**20
"""Of addresses; below, the libraries of the analysis end the process without a word."""

MAKE_ROOM = "make room"
"""In an advice: what to do about a full disk."""

BUFFER_BYTES = 1 << 20
"""How much of a streamed or copied file is held in memory."""

READ_ONLY = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""Reasons to read a lake as it is, and leave it so, instead of giving up."""


def shortage_of(exc: BaseException) -> str | None:
    """Return what was lacking when an error arose, and what helps; None: it has another reason."""
    for one in _chain(exc):
        if isinstance(one, BenchError):
            continue  # its own words may quote what a user wrote
        number = getattr(one, "errno", None)
        if number in TOO_MANY_FILES or FILES_TEXT.search(str(one)):
            return files_sentence()
        if isinstance(one, MemoryError) or number == errno.ENOMEM or MEMORY_TEXT.search(str(one)):
            return memory_sentence()
    return None


def _chain(exc: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        yield exc
        exc = exc.__cause__ or exc.__context__


def files_sentence() -> str:
    """Return that too many files are open, the limit, and what raises it."""
    import resource  # noqa: PLC0415 - for the last words of a command

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        f"too many open files: this process may have {most:,} at once (`ulimit -n`); "
        f"`ulimit -n {max(MIN_FILES, 4 * most)}` lets it have more, then the same command again"
    )


def memory_sentence() -> str:
    """Return that memory was too small, the limit where one was set, and what helps."""
    import resource  # noqa: PLC0415 - as above

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        return (
            f"not enough memory: this process may have {most // 2**20:,} MiB (`ulimit -v`); "
            "`ulimit -v unlimited` lets it have more, then the same command again"
        )
    return (
        "not enough memory: ask for less at a time (one suite, one model, fewer runs) or end other "
        "programs, then the same command again"
    )


def too_few_addresses() -> str | None:
    """Return why the analysis cannot even begin under a limit of this process; None: it can."""
    import resource  # noqa: PLC0415 - as above

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    is_enough = most == resource.RLIM_INFINITY or most >= MIN_ADDRESS_BYTES
    return None if is_enough else memory_sentence()


def unwritable(path: Path, exc: OSError, advice: str) -> CollectError:
    """Return the error for a file that cannot be written, and what to do about it."""
    if exc.errno in TOO_MANY_FILES:
        advice = advice.replace(MAKE_ROOM, "raise the limit")
        return CollectError(f"{path} cannot be written: {files_sentence()}; {advice}")
    return CollectError(f"{path} cannot be written: {exc.strerror}; {advice}")


TEMPORARY = ".tmp-"
"""Begins the name of a file until it is whole."""


@contextlib.contextmanager
def replacing(path: Path, suffix: str = "") -> Iterator[Path]:
    """Yield a name beside a file, with a suffix where its writer goes by that.

    What is there in the end takes the file's place, which stays as it is when the block raises.

    Raises:
        OSError: the file cannot be replaced.
    """
    temporary = path.with_name(f"{TEMPORARY}{uuid.uuid4().hex[:12]}{suffix}")
    try:
        yield temporary
        temporary.rename(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_chunks(path: Path, chunks: Iterable[bytes], advice: str) -> None:
    """Write a file that is whole or not there: temporary name, fsync, rename.

    The name itself survives a power cut once the folder is synced (`sync_folder`).

    Args:
        path: the file; one that is there is replaced.
        chunks: its content; never more than a buffer of it is held.
        advice: what the user can do when the disk is full.

    Raises:
        CollectError: the file cannot be written.
    """
    try:
        with replacing(path) as temporary, temporary.open("xb", buffering=BUFFER_BYTES) as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
    except OSError as exc:
        raise unwritable(path, exc, advice) from exc


def sync_folder(folder: Path, advice: str) -> None:
    """Make the names in a folder survive a power cut.

    Raises:
        CollectError: the disk did not take it.
    """
    try:
        sync_path(folder)
    except OSError as exc:
        raise unwritable(folder, exc, advice) from exc


class Tail:
    """A file that only grows, one write an entry; its only writer, so its size is known.

    Args:
        folder: of the run.
        name: of the file in it, with `/` between the parts; none of them may be a link.
        advice: what the user can do when the disk is full.
    """

    def __init__(self, folder: Path, name: str, advice: str) -> None:
        self._path = path = folder / name
        self._advice = advice
        try:
            self._handle = open_own(folder, name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        except OSError as exc:
            raise unwritable(path, exc, advice) from exc
        self._size = os.fstat(self._handle).st_size
        self._synced = -1
        self._torn = False

    def append(self, entry: bytes) -> int:
        """Append one entry and return where it begins.

        What a full disk cut off is taken back, so that no entry is ever half there.

        Raises:
            CollectError: the file cannot be written; everything before is kept.
        """
        try:
            if self._torn:
                self._take_back()
            written = os.write(self._handle, entry)
            while written < len(entry):
                written += os.write(self._handle, memoryview(entry)[written:])
        except OSError as exc:
            self._torn = True
            with contextlib.suppress(OSError):
                self._take_back()
            raise unwritable(self._path, exc, self._advice) from exc
        begin = self._size
        self._size = begin + written
        return begin

    def _take_back(self) -> None:
        os.ftruncate(self._handle, self._size)
        self._torn = False

    def sync(self) -> None:
        """Make what was appended survive a power cut; costs nothing when nothing was.

        Raises:
            CollectError: the disk did not take it.
        """
        size = self._size
        if size == self._synced:
            return
        try:
            os.fsync(self._handle)
        except OSError as exc:
            raise unwritable(self._path, exc, self._advice) from exc
        self._synced = size

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._handle)


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file's content: all of it or nothing, also when the power goes.

    Raises:
        OSError: it cannot be written; the old content stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_bytes(content)
        sync_path(temporary)
    sync_path(path.parent)


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, all of which is read.

    Raises:
        OSError: it cannot be.
    """
    import hashlib  # noqa: PLC0415 - 5 ms, and help pages load this module

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy_hashed(source: IO[bytes], target: Path) -> str:
    """Copy all bytes of an open file, and return their sha256."""
    import hashlib  # noqa: PLC0415 - 5 ms, and help pages load this module

    digest = hashlib.sha256()
    with target.open("wb") as file:
        while chunk := source.read(BUFFER_BYTES):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def sync_path(path: Path) -> None:
    """Wait until a file's content, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""A run folder on another machine, copied piece by piece while it grows.

What grows is sent from where the copy ends, other files whole where they changed. A line of a log
is sent after what it points to, so a copy that ends anywhere is the folder of a run cut short.
Links are never followed, and never sent.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from schemas.errors import BenchError
from schemas.io.own_files import make_own_folder, open_own
from schemas.run.layout import ARTIFACTS, EVALUATIONS, LOG

LOGS = (LOG, EVALUATIONS)
"""Lines that point to other files, so they are sent last."""

RUN_LOG = "run.log"

LEFT_OUT = frozenset({"summary.json", "summary.md", "report.html"})
"""Made again from the rest; hidden files are locks, or not whole yet."""

MAX_BYTES = 8 << 20
"""That are sent at once."""

SYNC_S = 1.0
"""Between two times at which a copy is made to survive a power cut."""

RUNNABLE = 0o111


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a file, where they belong."""

    name: str
    """Below the run's folder, with `/` between the parts."""
    offset: int
    content: bytes
    is_runnable: bool = False


@dataclass(slots=True)
class Changes:
    """What became of a folder since it was looked at."""

    pieces: list[Piece] = field(default_factory=list)
    """In the order in which they are written; one at offset 0 begins its file anew."""
    gone: list[str] = field(default_factory=list)
    is_all: bool = True
    """Nothing is left that would have been too much to send at once."""


class Original:
    """A folder that is copied elsewhere."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sent: dict[str, tuple[int, int]] = {}
        """Name to the size and the time (0: it grows) of what was sent."""

    def take_as_sent(self) -> None:
        """Take everything that is there as copied already."""
        for name, facts in _files(self._folder):
            self._sent[name] = facts.st_size, _time(name, facts)

    def changes(self) -> Changes:
        """Return what the copy lacks, or the first part of it."""
        ends = {name: _size(self._folder / name) for name in LOGS}
        changes, room = Changes(), MAX_BYTES
        there = dict(_files(self._folder))
        later = sorted(there, key=lambda name: (name in LOGS, name))
        for name in later:
            facts = there[name]
            size = min(facts.st_size, ends.get(name, facts.st_size))
            sent, time_ns = self._sent.get(name, (0, -1))
            is_same = time_ns == _time(name, facts) and size == sent
            if is_same:
                continue
            begin = sent if time_ns == _time(name, facts) and size >= sent else 0
            if room <= 0:
                changes.is_all = False
                break
            content = self._read(name, begin, min(size - begin, room))
            if content is None:
                continue
            room -= len(content)
            is_runnable = bool(facts.st_mode & RUNNABLE)
            changes.pieces.append(Piece(name, begin, content, is_runnable))
            self._sent[name] = begin + len(content), _time(name, facts)
            if begin + len(content) < size:
                changes.is_all = False
                break
        changes.gone = [name for name in self._sent if name not in there]
        for name in changes.gone:
            del self._sent[name]
        return changes

    def _read(self, name: str, begin: int, n_bytes: int) -> bytes | None:
        """Return bytes of a file; None when it is gone, or is not ours any more."""
        try:
            handle = open_own(self._folder, name, os.O_RDONLY)
        except (OSError, BenchError):
            return None
        try:
            return os.pread(handle, n_bytes, begin)
        finally:
            os.close(handle)


class Copy:
    """The folder that it is copied to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._unsynced: set[str] = set()
        self._synced_at = time.monotonic()

    def apply(self, changes: Changes) -> None:
        """Write what is new.

        Raises:
            ValueError: a name leads out of the folder, or a piece does not go on where the copy
                ends.
            NotOwnFile: a link is in the way.
            OSError: the disk is full.
        """
        for piece in changes.pieces:
            self._write(piece)
        for name in changes.gone:
            with contextlib.suppress(FileNotFoundError):
                self._inside(name).unlink()
        if time.monotonic() - self._synced_at > SYNC_S:
            self.sync()

    def sync(self) -> None:
        """Make what was written survive a power cut."""
        for name in sorted(self._unsynced, key=lambda one: one in LOGS):
            with contextlib.suppress(FileNotFoundError):
                handle = open_own(self._folder, name, os.O_WRONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)
        self._unsynced.clear()
        self._synced_at = time.monotonic()

    def _write(self, piece: Piece) -> None:
        self._inside(piece.name)
        parent = PurePosixPath(piece.name).parent
        if parent.name:
            make_own_folder(self._folder, str(parent))
        anew = os.O_TRUNC if piece.offset == 0 else 0
        handle = open_own(self._folder, piece.name, os.O_WRONLY | os.O_CREAT | anew)
        try:
            if os.fstat(handle).st_size != piece.offset:
                message = f"{piece.name}: the copy does not end at byte {piece.offset:,}"
                raise ValueError(message)
            written = 0
            while written < len(piece.content):
                rest = memoryview(piece.content)[written:]
                written += os.pwrite(handle, rest, piece.offset + written)
            if piece.is_runnable:
                os.fchmod(handle, 0o755)
        finally:
            os.close(handle)
        self._unsynced.add(piece.name)

    def _inside(self, name: str) -> Path:
        parts = PurePosixPath(name).parts
        if not parts or parts[0] == "/" or ".." in parts:
            message = f"{name!r} is no file of a run"
            raise ValueError(message)
        return self._folder / name


def _files(folder: Path, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Yield the regular files of a run's folder, by name."""
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(folder / below):
            name = f"{below}/{entry.name}" if below else entry.name
            if name in LEFT_OUT or (not below and entry.name.startswith(".")):
                continue
            with contextlib.suppress(FileNotFoundError):
                facts = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(facts.st_mode):
                    yield from _files(folder, name)
                elif stat.S_ISREG(facts.st_mode):
                    yield name, facts


def _grows(name: str) -> bool:
    return name in LOGS or name == RUN_LOG or name.startswith(f"{ARTIFACTS}/")


def _time(name: str, facts: os.stat_result) -> int:
    return 0 if _grows(name) else facts.st_mtime_ns


def _size(path: Path) -> int:
    try:
        return path.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0

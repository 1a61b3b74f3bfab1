"""A copy of what a hostile model may have left, and a list of everything that was there.

One walk makes both. Devices, pipes and sockets are never opened, no link is followed, and what is
past the limits is left out: the list says of each thing why. Files are 0644 in the copy, or 0755
where their owner may execute them, folders 0755.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from collect.workspace.handles import (
    FOLDER,
    MAX_DEPTH,
    NEW_FILE,
    SHORTAGES,
    facts_of,
    found_place,
    opened_file,
    opened_folder,
    stays_inside,
)
from schemas.run.workspace import EntryKind, LeftOut, WorkspaceEntry, spelled

CHUNK_BYTES = 1 << 20

MAX_PATH_BYTES = 1_000
"""Of a path below the top; a longer one is too deep down."""

MAX_LEFT_OUT = 10_000
"""Things left out that are listed one by one."""

MAX_NAMES_BYTES = 8_000_000
"""Of all paths and targets in a list; names past it are not listed, nor what they name copied."""

OTHERS: dict[int, LeftOut] = {
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}
"""What is neither file, folder nor link."""


@dataclass(slots=True)
class Budget:
    """What may still be copied and listed, of all folders together."""

    size: int
    """Bytes of files."""
    files: int
    """Files, folders and links in the copies."""
    file_size: int
    """Bytes of one file."""
    left_out: int = MAX_LEFT_OUT
    names: int = MAX_NAMES_BYTES
    n_unlisted: int = 0
    """Things that are in no list."""


@dataclass(slots=True)
class _Content:
    """What is found while a file is copied."""

    size: int = 0
    sha256: str | None = None
    is_binary: bool | None = None
    left_out: LeftOut | None = None


@dataclass(slots=True)
class Snapshot:
    """The copy and the list of one folder, in which nothing runs any more.

    The folder of the copy is made when the first thing is copied, and must not be there before.
    """

    target: Path
    """Of the copy."""
    budget: Budget
    prefix: str = ""
    """Stands before the paths of the list."""
    _entries: dict[bytes, WorkspaceEntry] = field(default_factory=dict)
    _walked: set[bytes] = field(default_factory=set)
    _is_made: bool = False

    @property
    def entries(self) -> tuple[WorkspaceEntry, ...]:
        """What was found, by path."""
        return tuple(sorted(self._entries.values(), key=lambda entry: entry.path))

    def take(self, source: Path) -> None:
        """Copy and list all that is in a folder; where that is missing, nothing is.

        Raises:
            OSError: the copy cannot be written, or is there already.
        """
        with contextlib.ExitStack() as stack:
            try:
                handle = stack.enter_context(opened_folder(str(source), None, opens=True))
                names = _names(handle)
            except FileNotFoundError:
                return
            except OSError as exc:
                self._add(b".", "folder", left_out=_fault(exc))
                return
            self._fill(handle, names, b"", 0)

    def take_named(self, source: Path, paths: Iterable[bytes]) -> None:
        """Copy and list what some paths lead to in a folder, with the links on their way.

        A path that leads to nothing takes nothing.

        Args:
            source: the folder.
            paths: below it.

        Raises:
            OSError: the copy cannot be written, or is there already.
        """
        with contextlib.ExitStack() as stack:
            try:
                handle = stack.enter_context(opened_folder(str(source), None, opens=True))
            except OSError as exc:
                _fault(exc)
                return
            for path in paths:
                try:
                    with found_place(handle, path, opens=True) as place:
                        wanted = [real for real, _ in place.links]
                        if place.facts is not None:
                            wanted.append(place.parts)
                        elif not place.leads_out:
                            continue
                except OSError as exc:
                    self._add(path, "other", left_out=_fault(exc))
                    continue
                for parts in wanted:
                    self._take_path(handle, parts)

    def _take_path(self, source: int, parts: tuple[bytes, ...]) -> None:
        """Take what lies at a real path, and of the folders above it nothing but themselves."""
        with contextlib.ExitStack() as stack:
            for depth, name in enumerate(parts[:-1]):
                above = b"/".join(parts[:depth])
                if not self._take_folder(source, name, above, depth, is_whole=False):
                    return
                try:
                    source = stack.enter_context(opened_folder(name, source, opens=True))
                except OSError as exc:
                    _fault(exc)
                    return
            if parts:
                self._take_entry(source, parts[-1], b"/".join(parts[:-1]), len(parts) - 1)
            else:
                self._fill(source, _names(source), b"", 0)

    def _fill(self, source: int, names: list[bytes], above: bytes, depth: int) -> None:
        if above not in self._walked:
            self._walked.add(above)
            for name in names:
                self._take_entry(source, name, above, depth)

    def _take_entry(self, source: int, name: bytes, above: bytes, depth: int) -> None:
        """Take one file, folder or link, `depth` folders below the top."""
        path = _joined(above, name)
        try:
            facts = facts_of(name, source)
        except OSError as exc:
            self._add(path, "other", left_out=_fault(exc))
            return
        if facts is None:
            return
        if stat.S_ISDIR(facts.st_mode):
            self._take_folder(source, name, above, depth)
        elif path in self._entries:
            return
        elif stat.S_ISREG(facts.st_mode):
            self._take_file(source, name, path, facts)
        elif stat.S_ISLNK(facts.st_mode):
            self._take_link(source, name, path, depth)
        else:
            self._add(path, "other", left_out=OTHERS.get(stat.S_IFMT(facts.st_mode), "unreadable"))

    def _take_folder(
        self, source: int, name: bytes, above: bytes, depth: int, *, is_whole: bool = True
    ) -> bool:
        """Take a folder, with what is in it unless only itself is wanted; False: it is left out."""
        path = _joined(above, name)
        if path in self._entries:
            left_out = self._entries[path].left_out
        else:
            left_out = "too_deep" if depth >= MAX_DEPTH else self._excess(path)
        with contextlib.ExitStack() as stack:
            names: list[bytes] = []
            if left_out is None:
                try:
                    handle = stack.enter_context(opened_folder(name, source, opens=True))
                    names = _names(handle) if is_whole else []
                except OSError as exc:
                    left_out = _fault(exc)
            if path not in self._entries:
                is_listed = self._add(path, "folder", left_out=left_out)
                if is_listed and left_out is None:
                    with self._made_folder(above) as target:
                        os.mkdir(name, 0o755, dir_fd=target)
            if left_out is None and is_whole:
                self._fill(handle, names, path, depth + 1)
        return left_out is None

    def _take_link(self, source: int, name: bytes, path: bytes, depth: int) -> None:
        try:
            leads_to = os.readlink(name, dir_fd=source)
        except OSError as exc:
            self._add(path, "link", left_out=_fault(exc))
            return
        left_out: LeftOut | None = self._excess(path)
        if not stays_inside(leads_to, depth):
            left_out = "leads_out"
        if self._add(path, "link", target=leads_to, left_out=left_out) and left_out is None:
            with self._made_folder(path.rpartition(b"/")[0]) as target:
                os.symlink(leads_to, name, dir_fd=target)

    def _take_file(self, source: int, name: bytes, path: bytes, facts: os.stat_result) -> None:
        content = _Content(size=facts.st_size, left_out=self._excess(path))
        if content.left_out is None and facts.st_size > self._room:
            content.left_out = "too_large"
        if content.left_out is None:
            self._copy(source, name, path, content)
        is_executable = bool(facts.st_mode & stat.S_IXUSR)
        self._add(path, "file", content=content, is_executable=is_executable)

    @property
    def _room(self) -> int:
        """Bytes that the next file may have."""
        return min(self.budget.file_size, self.budget.size)

    def _copy(self, source: int, name: bytes, path: bytes, content: _Content) -> None:
        """Copy a file and find out what is in it; one that grows past the limit is left out."""
        with contextlib.ExitStack() as stack:
            try:
                handle, facts = stack.enter_context(opened_file(name, source, opens=True))
            except OSError as exc:
                content.left_out = _fault(exc)
                return
            target = stack.enter_context(self._made_folder(path.rpartition(b"/")[0]))
            mode = 0o755 if facts.st_mode & stat.S_IXUSR else 0o644
            made = os.open(name, NEW_FILE, mode, dir_fd=target)
            stack.callback(os.close, made)
            digest, decoder = hashlib.sha256(), codecs.getincrementaldecoder("utf-8")()
            content.size, content.is_binary, room = 0, False, self._room
            chunk: bytes | None = b"-"
            while chunk:
                chunk = _read(handle)
                if chunk is None or content.size + len(chunk) > room:
                    content.left_out = "unreadable" if chunk is None else "too_large"
                    content.size, content.is_binary = max(facts.st_size, content.size), None
                    os.unlink(name, dir_fd=target)
                    return
                content.size += len(chunk)
                content.is_binary = content.is_binary or not _is_text(decoder, chunk)
                digest.update(chunk)
                rest = memoryview(chunk)
                while rest:
                    rest = rest[os.write(made, rest) :]
            content.sha256 = digest.hexdigest()
            self.budget.size -= content.size

    def _excess(self, path: bytes) -> LeftOut | None:
        """Return why something of any kind cannot be copied any more."""
        if len(path) > MAX_PATH_BYTES:
            return "too_deep"
        budget = self.budget
        return "too_many" if budget.files <= 0 or len(path) > budget.names else None

    @contextlib.contextmanager
    def _made_folder(self, path: bytes) -> Iterator[int]:
        """Hold a handle of a folder of the copy, which has been made but for the top."""
        if not self._is_made:
            os.makedirs(self.target, 0o755)  # noqa: PTH103 - with this mode
            self._is_made = True
        handle = os.open(self.target, FOLDER)
        try:
            if path:  # folders of ours alone
                top, handle = handle, os.open(path, FOLDER, dir_fd=handle)
                os.close(top)
            yield handle
        finally:
            os.close(handle)

    def _add(
        self,
        path: bytes,
        kind: EntryKind,
        *,
        content: _Content | None = None,
        is_executable: bool = False,
        target: bytes | None = None,
        left_out: LeftOut | None = None,
    ) -> bool:
        """List something; False: there is no room in the list, so it is not to be copied."""
        content, budget = content or _Content(left_out=left_out), self.budget
        n_bytes = len(path) + len(target or b"")
        is_listed = n_bytes <= budget.names
        if content.left_out is not None:
            is_listed = is_listed and budget.left_out > 0
            budget.left_out -= is_listed
        else:
            budget.files -= is_listed
        if not is_listed:
            budget.n_unlisted += 1
            return False
        budget.names -= n_bytes
        self._entries[path] = WorkspaceEntry(
            path=self.prefix + spelled(path),
            kind=kind,
            size=content.size,
            sha256=content.sha256,
            is_binary=content.is_binary,
            is_executable=is_executable,
            target=None if target is None else spelled(target),
            left_out=content.left_out,
        )
        return True


def _fault(exc: OSError) -> LeftOut:
    """Return what keeps a thing of the model's from being read.

    Raises:
        OSError: it is no fault of the thing.
    """
    if exc.errno in SHORTAGES:
        raise exc
    return "unreadable"


def _names(folder: int) -> list[bytes]:
    return sorted(map(os.fsencode, os.listdir(folder)))


def _joined(above: bytes, name: bytes) -> bytes:
    return above + b"/" + name if above else name


def _read(handle: int) -> bytes | None:
    """Return what a file goes on with; None: it cannot be read."""
    try:
        return os.read(handle, CHUNK_BYTES)
    except OSError as exc:
        _fault(exc)
        return None


def _is_text(decoder: codecs.IncrementalDecoder, chunk: bytes) -> bool:
    """Return whether a file that is text so far still is; an empty chunk is its end."""
    try:
        decoder.decode(chunk, final=not chunk)
    except UnicodeDecodeError:
        return False
    return b"\0" not in chunk

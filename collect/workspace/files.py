"""Files that a trial has left, as checks read them: by name, bounded, and never past their folder.

A name is looked up like the kernel does it, but nothing leads out of the folder, and what is no
file is never opened. What cannot be read is a sentence about the file, since the model left it so.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from collect.workspace.handles import FOLDER, SHORTAGES, Place, found_place, opened_file
from schemas.run.workspace import spelled, unspelled

CHUNK_BYTES = 1 << 20

FoundKind = Literal["file", "folder", "link", "link_out", "other"]

WORDS: dict[int, str] = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
}


class Unreadable(ValueError):
    """A file cannot be read as it should be: one sentence that names it and says why."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a name leads to."""

    kind: FoundKind
    """`link_out` leads out of the folder; `link` is one that was not to be followed; `other` is a
    device, a pipe, a socket, or what cannot be looked at."""
    size: int = 0
    """Bytes of a file, as it claims."""
    is_executable: bool = False
    """The owner of the file may execute it."""
    target: str | None = None
    """Of a link that was not followed."""


class Tree:
    """A folder with what a trial has left; where it is missing, nothing is in it.

    Names are relative, with `/`, and spelled as in workspace.json.

    Args:
        root: of the folder, itself no link.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def find(self, name: str, *, follows: bool = True) -> Found | None:
        """Return what a name leads to; None: nothing is there, or it leads to nothing.

        Args:
            name: below the root.
            follows: a link at the very end counts as what it leads to.

        Raises:
            OSError: no more files can be opened, or memory is short.
        """
        try:
            with self._place(name, follows=follows) as place:
                return None if place is None else _found(place)
        except OSError as exc:
            if exc.errno in SHORTAGES:
                raise
            return Found("other")

    def content(self, name: str, max_bytes: int) -> bytes:
        """Return what a file holds.

        At most one byte more than allowed is read, whatever the file claims to hold.

        Raises:
            Unreadable: there is none, it is too large, or cannot be read.
            OSError: no more files can be opened, or memory is short.
        """
        try:
            with self._place(name) as place:
                return _content(name, place, max_bytes)
        except OSError as exc:
            if exc.errno in SHORTAGES:
                raise
            message = f"{name} cannot be opened: {exc.strerror or 'it was replaced meanwhile'}"
            raise Unreadable(message) from exc

    def text(self, name: str, max_bytes: int) -> str:
        """Return the text of a file, as it stands there.

        Raises:
            Unreadable: there is none, it is too large, no text, or cannot be read.
            OSError: no more files can be opened, or memory is short.
        """
        raw = self.content(name, max_bytes)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as exc:
            message = f"{name} is no text: byte {exc.start:,} is not UTF-8"
            raise Unreadable(message) from exc

    @contextlib.contextmanager
    def _place(self, name: str, *, follows: bool = True) -> Iterator[Place | None]:
        """Hold the place of a name; None: there is no root."""
        try:
            root = os.open(self._root, FOLDER)
        except (FileNotFoundError, NotADirectoryError):
            yield None
            return
        try:
            with found_place(root, unspelled(name), opens=False, follows=follows) as place:
                yield place
        finally:
            os.close(root)


def _found(place: Place) -> Found | None:
    """Return what is at a place."""
    if place.leads_out:
        return Found("link_out")
    if place.facts is None:
        return None
    mode = place.facts.st_mode
    if stat.S_ISREG(mode):
        return Found("file", place.facts.st_size, is_executable=bool(mode & stat.S_IXUSR))
    if stat.S_ISLNK(mode):
        return Found("link", target=spelled(os.readlink(place.name, dir_fd=place.parent)))
    return Found("folder" if stat.S_ISDIR(mode) else "other")


def _content(name: str, place: Place | None, max_bytes: int) -> bytes:
    """Return what the file at a place holds.

    Raises:
        Unreadable: it is none, or too large.
        OSError: it cannot be read.
    """
    problem = None
    if place is not None and place.leads_out:
        problem = f"{name} leads out of the workspace"
    elif place is None or place.facts is None:
        problem = f"no file {name}"
    elif not stat.S_ISREG(place.facts.st_mode):
        kind = WORDS.get(stat.S_IFMT(place.facts.st_mode), "no file")
        problem = f"{name} is {kind}, which is not read"
    if place is None or problem is not None:
        raise Unreadable(problem)
    with opened_file(place.name, place.parent, opens=False) as (handle, facts):
        raw = bytearray()
        if facts.st_size <= max_bytes:
            while len(raw) <= max_bytes and (
                chunk := os.read(handle, min(CHUNK_BYTES, max_bytes + 1 - len(raw)))
            ):
                raw += chunk
    if facts.st_size > max_bytes or len(raw) > max_bytes:
        message = f"{name} is larger than {max_bytes:,} bytes"
        raise Unreadable(message)
    return bytes(raw)

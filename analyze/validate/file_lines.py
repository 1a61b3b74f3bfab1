"""Lines of a file one after the other, in a memory that no line can fill."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

LONGEST_LINE = 64 * 2**20
"""Bytes of a line that is read; a trial's answer is cut at 64 KiB, a patch has a few MB."""

CHUNK_BYTES = 2**20


class FileLine(NamedTuple):
    """One line; without content where it is too long."""

    number: int
    content: bytes
    """With its newline, where it has one."""
    n_bytes: int

    @property
    def is_too_long(self) -> bool:
        """Return whether the line was passed over because of its length."""
        return self.n_bytes > len(self.content)

    @property
    def is_whole(self) -> bool:
        """Return whether the line ends in a newline."""
        return self.content.endswith(b"\n")


def lines_of(file: BinaryIO) -> Iterator[FileLine]:
    """Yield the lines of a file from where it stands, the first of them as number 1."""
    number = 0
    while content := file.readline(LONGEST_LINE + 1):
        number += 1
        n_bytes = len(content)
        if n_bytes > LONGEST_LINE:
            while not content.endswith(b"\n") and (content := file.readline(CHUNK_BYTES)):
                n_bytes += len(content)
            content = b""
        yield FileLine(number, content, n_bytes)

"""What a sealed file's bytes were when it was sealed: a damaged one is told from a sound one.

A sealed file never changes. One whose size and time are as before is taken as it is; of any other
one the bytes are read again, and where they are the same it was only copied.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import NamedTuple

CHUNK_BYTES = 2**20


class Checksum(NamedTuple):
    """Of one file."""

    size: int
    """Bytes."""
    mtime_ns: int
    """When it was changed last."""
    crc32: int


def checksum_of(path: Path) -> Checksum:
    """Return the checksum of a file; reads all of it, a second a gigabyte.

    Raises:
        OSError: it cannot be read.
    """
    total = 0
    with path.open("rb") as file:
        facts = path.stat()
        while chunk := file.read(CHUNK_BYTES):
            total = zlib.crc32(chunk, total)
    return Checksum(facts.st_size, facts.st_mtime_ns, total)


def looks_unchanged(path: Path, known: Checksum) -> bool:
    """Return whether size and time of a file are as they were; one stat.

    Raises:
        OSError: it is gone.
    """
    facts = path.stat()
    return (facts.st_size, facts.st_mtime_ns) == known[:2]

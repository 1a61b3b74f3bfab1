"""The files that an import was made of: hashed, and copied unchanged beside what was made of them.

The hash of all of them decides whether a second import of the same name is the same one.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from schemas.disk import sync_path
from schemas.errors import AnalyzeError, shown

CHUNK_BYTES = 2**20

MANY_FILES = 200
"""From here on the whole disk is waited for once, rather than each file."""


class SourceChanged(AnalyzeError):
    """A file was written to while it was imported."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{shown(path)} changed while it was read; nothing was imported, try again"
        )


def files_below(folder: Path) -> dict[str, Path]:
    """Return every ordinary file below a folder by its path there, in order of these.

    Links are followed for a file and never for a folder, so that there is an end to it. A name that
    is not UTF-8 is passed over, as are sockets and pipes, which nobody could copy.
    """
    found = {}
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in names:
            path = Path(place, name)
            inside = path.relative_to(folder).as_posix()
            if _is_text(inside) and _is_file(path):
                found[inside] = path
    return dict(sorted(found.items()))


def _is_text(name: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in name)


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def hashes_of(sources: Mapping[str, Path]) -> dict[str, str]:
    """Return the sha256 of each file, by the name it will have below `source/`.

    Raises:
        OSError: one cannot be read.
    """
    found = {}
    for name, path in sorted(sources.items()):
        digest = hashlib.sha256()
        for chunk in _chunks(path):
            digest.update(chunk)
        found[name] = digest.hexdigest()
    return found


def digest_of(hashes: Mapping[str, str]) -> str:
    """Return one sha256 for files, of their names and contents."""
    lines = "".join(f"{name}\0{digest}\n" for name, digest in sorted(hashes.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def copy_originals(sources: Mapping[str, Path], hashes: Mapping[str, str], target: Path) -> None:
    """Copy files below a folder, and wait until they are on the disk.

    Raises:
        SourceChanged: a file is no longer what was hashed.
        OSError: one cannot be read or written.
    """
    folders = {target}
    for name, path in sources.items():
        copy = target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        folders |= {target / above for above in Path(name).parents}
        digest = hashlib.sha256()
        with copy.open("wb") as file:
            for chunk in _chunks(path):
                digest.update(chunk)
                file.write(chunk)
        if digest.hexdigest() != hashes[name]:
            raise SourceChanged(path)
    if len(sources) > MANY_FILES:
        os.sync()  # one long wait of the disk instead of a wait for each
        return
    for place in (*(target / name for name in sources), *folders):
        sync_path(place)


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk

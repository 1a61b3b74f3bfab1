"""The files that an import was made of: hashed, and copied unchanged beside what was made of them.

The hash of all of them decides whether a second import of the same name is the same one.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from schemas.base import Finding, warning
from schemas.errors import AnalyzeError, display_path
from schemas.io.files import copy_hashed, sha256_of, sync_path

MIN_BULK_FILES = 200
"""From here on the whole disk is waited for once, rather than each file."""


class SourceChanged(AnalyzeError):
    """A file was written to while it was imported."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{display_path(path)} changed while it was read; nothing was imported, try again"
        )


class Below(NamedTuple):
    """What is in a folder and in those below it."""

    files: dict[str, Path]
    """Every file by its path there, in order of these."""
    left_out: tuple[str, ...]
    """What nobody could or should copy: a link that leads elsewhere or to a folder, a pipe, a name
    that is not UTF-8."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """That something was left out, if anything was."""
        if not self.left_out:
            return ()
        message = (
            f"{len(self.left_out):,} left out, {self.left_out[0]!a:.80} for one: links to "
            "elsewhere or to folders, what is no file, and names that are not UTF-8"
        )
        return (warning("left_out", "", message),)


def files_below(folder: Path) -> Below:
    """Return every ordinary file below a folder.

    A link counts as the file it leads to when that lies there as well: what is elsewhere was not
    given to us, and may be a secret, or have no end. Links to folders are never followed.

    Raises:
        OSError: a folder cannot be read.
    """
    found, left_out = {}, []
    real = folder.resolve()
    for place, folders, names in os.walk(folder, onerror=_raise):
        folders.sort()
        links = (path for name in folders if (path := Path(place, name)).is_symlink())
        left_out += [_inside(path, folder) for path in links]
        for name in names:
            path = Path(place, name)
            inside = _inside(path, folder)
            if _is_text(inside) and is_file_within(path, real):
                found[inside] = path
            else:
                left_out.append(inside)
    return Below(dict(sorted(found.items())), tuple(sorted(left_out)))


def is_file_within(path: Path, folder: Path) -> bool:
    """Return whether a path is an ordinary file, and no link out of a folder.

    Args:
        path: of what may be one.
        folder: without links in its own path.
    """
    try:
        return is_within(path, folder) and stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def is_within(path: Path, folder: Path) -> bool:
    """Return whether a path is no link out of a folder, which has no links in its own path."""
    try:
        return not path.is_symlink() or path.resolve(strict=True).is_relative_to(folder)
    except (OSError, RuntimeError):  # the latter for a link to itself
        return False


def _raise(exc: OSError) -> None:
    raise exc


def _inside(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _is_text(name: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in name)


def hashes_of(sources: Mapping[str, Path]) -> dict[str, str]:
    """Return the sha256 of each file, by the name it will have below `source/`.

    Raises:
        OSError: one cannot be read.
    """
    return {name: sha256_of(path) for name, path in sorted(sources.items())}


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
        with path.open("rb") as source:
            digest = copy_hashed(source, copy)
        if digest != hashes[name]:
            raise SourceChanged(path)
    if len(sources) > MIN_BULK_FILES:
        os.sync()  # one long wait of the disk instead of a wait for each
        return
    for place in (*(target / name for name in sources), *folders):
        sync_path(place)

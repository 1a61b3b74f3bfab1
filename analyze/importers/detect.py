"""What lies at a path: a format's own look at each file and folder, from the top down.

A folder that is an import of itself is not looked into, unless there may be others in it. A file is
looked at by what it begins with, so that a folder of large files takes no longer than one of small
ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

from analyze.importers import IMPORTERS
from schemas.errors import ConfigError, Problem, display_path
from schemas.run.layout import is_run_folder

HEAD_BYTES = 1 << 16
"""Of a file, that a look at it reads."""

MAX_LOOKS = 100_000
"""Files and folders that one look passes over at most."""


class Detected(NamedTuple):
    """Something that can be imported."""

    path: Path
    format: str
    """Name of its importer."""


def detect(path: Path) -> list[Detected]:
    """Return all imports at a path, in order of their paths.

    Raises:
        ConfigError: it is not there, or holds more than anybody would look through.
    """
    if not path.exists():
        raise ConfigError([Problem(path, "is not there")])
    return list(_below(path))


def nothing_at(path: Path) -> ConfigError:
    """Return what to do about a path that holds nothing for any importer."""
    folders = [path, *_entries(path)] if path.is_dir() else [path]
    if any(map(is_run_folder, folders)):
        advice = f"analyze report {display_path(path)}"
        what = "holds runs of benchlake, which need no import"
        return ConfigError([Problem(path, what, advice=advice)])
    allowed = f"results of {', '.join(IMPORTERS.names)}"
    return ConfigError([Problem(path, "holds nothing that is known here", allowed=allowed)])


def _below(path: Path) -> Iterator[Detected]:
    """Yield what is at a path, or below it.

    Links to folders are not followed, and runs of ours, which keep what they were made of, not
    looked into.
    """
    looks = 0
    waiting: list[tuple[Path, str | None]] = [(path, None)]
    while waiting:
        one, above = waiting.pop()
        looks += 1
        if looks > MAX_LOOKS:
            what = f"holds more than {MAX_LOOKS:,} files"
            raise ConfigError([Problem(path, what, advice="name a folder below it")])
        found = _format_below(one, above)
        if found is not None and found != above:
            yield Detected(one, found)
            if not IMPORTERS[found].takes_all_below or not one.is_dir():
                continue
            above = found
        elif found is not None and not one.is_dir():
            continue  # it is in the import of a folder above
        if one.is_dir() and not is_run_folder(one) and (one == path or not one.is_symlink()):
            waiting += ((entry, above) for entry in sorted(_entries(one), reverse=True))


def _entries(folder: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(folder) if not entry.name.startswith(".")]
    except OSError:  # not ours to read
        return []


def format_of(path: Path) -> str | None:
    """Return the name of the importer whose import a file or folder is; None: nobody's."""
    return next((name for name in IMPORTERS.names if IMPORTERS[name].detect(path)), None)


def _format_below(path: Path, above: str | None) -> str | None:
    """Return the format of a path below a folder of another one, which is asked first."""
    if above is not None and IMPORTERS[above].detect(path):
        return above
    return format_of(path)


def head_of(path: Path) -> bytes:
    """Return what a file begins with; nothing where it is no file, or cannot be read."""
    try:
        if not path.is_file():  # a pipe would be waited for
            return b""
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError:
        return b""


def first_line_of(path: Path) -> dict[str, object]:
    """Return the JSON object on the first line of a file; an empty one where there is none."""
    try:
        found = orjson.loads(head_of(path).split(b"\n", 1)[0])
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def mentions(path: Path, *names: str) -> bool:
    """Return whether a JSON file has all these keys near its beginning."""
    head = head_of(path)
    return bool(head) and all(f'"{name}"'.encode() in head for name in names)

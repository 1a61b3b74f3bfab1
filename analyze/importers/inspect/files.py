"""Which logs lie at a path: one, or those of a folder, without what would be counted twice.

Shards lie in `<name>.shards/<k>/` beside the log that they were merged into, which counts in their
place once it is a success and newer, by the rule of the tool's own listing. A log that was
recovered after a crash holds the same eval as the one beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from analyze.importers.detect import head_of
from analyze.importers.inspect.log import opened
from analyze.importers.originals import is_file_within
from schemas.base import Finding, warning
from schemas.errors import ConfigError, Problem

SHARDS, RECOVERED, INDEX = ".shards", "-recovered", "logs.json"
ZIP_MAGIC = b"PK\x03\x04"
MAX_LOOKS = 100_000
MAX_PEEKED = 200
"""Files of a folder that a quick look opens."""


class Found(NamedTuple):
    """Logs, and what was left out of a folder."""

    logs: tuple[Path, ...]
    findings: tuple[Finding, ...] = ()


def is_log(path: Path) -> bool:
    """Return whether a file looks like a log, by what it begins with."""
    if path.suffix == ".eval":
        return head_of(path).startswith(ZIP_MAGIC)
    if path.suffix != ".json" or path.name == INDEX:
        return False
    head = head_of(path).lstrip(b"\xef\xbb\xbf \r\n\t")
    keys = (b'"version"', b'"status"', b'"eval"', b'"task"')
    return head.startswith(b"{") and all(one in head for one in keys)


def holds_logs(folder: Path) -> bool:
    """Return whether logs lie directly in a folder."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(one.name for one in entries if not one.name.startswith("."))
    except OSError:
        return False
    logs = [name for name in names if name.endswith(".eval")]
    logs += [name for name in names if name.endswith(".json")]
    return any(is_log(folder / name) for name in logs[:MAX_PEEKED])


def logs_at(path: Path) -> Found:
    """Return the logs at a path.

    Raises:
        ConfigError: there is none, or more than anybody would look through.
    """
    if not path.exists():
        raise ConfigError([Problem(path, "is not there")])
    if path.is_file():
        return Found((_one(path),))
    found = sorted(_below(path))
    if not found:
        what = "holds no log of Inspect"
        allowed = "files `.eval`, or `.json` with `version`, `status` and `eval`"
        raise ConfigError([Problem(path, what, allowed=allowed)])
    hidden = _merged_shards(found)
    left = tuple(one for one in found if one not in hidden)
    if not hidden:
        return Found(left)
    summary = f"{len(hidden):,} left out, {min(hidden).name} for one"
    message = f"{summary}: shards of a merged log that is here"
    return Found(left, (warning("shards_merged", "", message),))


def _one(path: Path) -> Path:
    if path.name == INDEX:
        what = "is the index of a folder of logs, and no log"
        raise ConfigError([Problem(path, what, advice="name the folder, or a log in it")])
    if not is_log(path):
        what, found = "is no log of Inspect", path.suffix or "no suffix"
        allowed = "a zip `.eval`, or `.json` with `version`, `status` and `eval`"
        raise ConfigError([Problem(path, what, found=found, allowed=allowed)])
    return path


def _below(folder: Path) -> Iterator[Path]:
    """Yield the logs in a folder and below it; none of hidden folders (`.buffer`), nor links."""
    real, looks = folder.resolve(), 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            looks += 1
            if looks > MAX_LOOKS:
                what = f"holds more than {MAX_LOOKS:,} files"
                raise ConfigError([Problem(folder, what, advice="name a folder below it")])
            path = Path(place, name)
            if name.endswith((".eval", ".json")) and is_file_within(path, real) and is_log(path):
                yield path


def _merged_shards(found: list[Path]) -> set[Path]:
    """Return the shards that logs among these were merged from."""
    there, hidden = set(found), set()
    for path in found:
        shards = path.parent.parent
        if not shards.name.endswith(SHARDS):
            continue
        name = shards.name.removesuffix(SHARDS)
        merged = [
            one
            for one in (shards.with_name(f"{name}{end}.eval") for end in ("", RECOVERED))
            if one in there
        ]
        if not merged or not all(map(_is_finished, merged)):
            continue
        if path.stat().st_mtime_ns < min(one.stat().st_mtime_ns for one in merged):
            hidden.add(path)
    return hidden


def _is_finished(path: Path) -> bool:
    try:
        with opened(path) as log:
            return log.header.get("status") == "success"
    except (ConfigError, OSError):
        return False

"""What kind of run a folder is, told from as little of it as possible; standard library only."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LAKE = "lake"
LOG = "results.jsonl"
IMPORT_FILE = "import.json"
"""In a folder that was made of another tool's files."""

SCHEMA_VERSION = 1
"""Of folders up to which this program reads; a test holds it equal to `schemas.base`."""


_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._()-]{0,127}")


def is_run_id(name: str) -> bool:
    """Return whether a run may be called so: safe as a folder everywhere, and not the lake's."""
    return _RUN_ID.fullmatch(name) is not None and name != LAKE


class LogSeen(NamedTuple):
    """Size and time of a log; zeros while there is none."""

    size: int
    mtime_ns: int


NO_LOG = LogSeen(0, 0)


def look_of(run_dir: Path) -> str:
    """Return what tells whether a folder that was refused may be taken now.

    Another text once one of its files is changed, or can be read, or when this program is newer.
    """
    looks = [str(SCHEMA_VERSION)]
    for name in ("config.json", "plan.jsonl", IMPORT_FILE, LOG):
        try:
            looks.append(str((run_dir / name).stat().st_ctime_ns))
        except OSError as exc:
            looks.append(f"errno {exc.errno}")
    return " ".join(looks)


def is_planned(run_dir: Path) -> bool:
    """Return whether a run was planned here: another tool's folder has no plan, whatever else."""
    return (run_dir / "plan.jsonl").is_file()


def run_folders(runs_dir: Path) -> Iterator[tuple[str, LogSeen]]:
    """Yield the folders that may be runs, with what one look at their log says.

    A link counts as the folder it leads to. Neither the lake nor hidden folders are runs.
    """
    try:
        folder = os.open(runs_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        yield from _logs(runs_dir, folder)
    finally:
        os.close(folder)


def _logs(runs_dir: Path, folder: int) -> Iterator[tuple[str, LogSeen]]:
    """Yield the same from an open folder: half the time of ten thousand looks is in long paths."""
    stat, seen = os.stat, LogSeen
    for name in os.listdir(folder):
        if name == LAKE or name[0] == ".":
            continue
        try:
            facts = stat(f"{name}/{LOG}", dir_fd=folder)
        except FileNotFoundError:
            if (runs_dir / name / "config.json").exists():
                yield name, NO_LOG
        except OSError as exc:
            if not isinstance(exc, NotADirectoryError):
                yield name, NO_LOG
        else:
            yield name, seen(facts.st_size, facts.st_mtime_ns)

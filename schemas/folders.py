"""What kind of run a folder is, told from as little of it as possible; standard library only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LAKE = "lake"
LOG = "results.jsonl"


class LogSeen(NamedTuple):
    """Size and time of a log; zeros while there is none."""

    size: int
    mtime_ns: int


NO_LOG = LogSeen(0, 0)


def run_folders(runs_dir: Path) -> Iterator[tuple[str, LogSeen]]:
    """Yield the folders that may be runs, with what one look at their log says.

    A link counts as the folder it leads to. Neither the lake nor hidden folders are runs.
    """
    try:
        names = os.listdir(runs_dir)  # noqa: PTH208 - names are all that is needed
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if name == LAKE or name.startswith("."):
            continue
        try:
            facts = os.stat(f"{runs_dir}/{name}/{LOG}")  # noqa: PTH116 - of ten thousand folders
        except FileNotFoundError:
            if os.path.exists(f"{runs_dir}/{name}/config.json"):  # noqa: PTH110
                yield name, NO_LOG
        except OSError as exc:
            if not isinstance(exc, NotADirectoryError):
                yield name, NO_LOG
        else:
            yield name, LogSeen(facts.st_size, facts.st_mtime_ns)

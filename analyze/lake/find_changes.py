"""What changed in a folder of runs, told from one stat a folder and from the end of each log.

Loads nothing heavy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from schemas.errors import counted, restore_command
from schemas.io.own_files import refuse_other
from schemas.lake.manifest import Manifest
from schemas.run.layout import IMPORT_FILE, LOG, NO_LOG, LogStat, folder_state, is_planned

Progress = Callable[[int, int], None]
"""Is told how many bytes of logs of how many are done."""


def is_second_name(folder: Path) -> bool:
    """Return whether a folder is a link to another run beside it, which counts once."""
    target = Path(os.path.realpath(folder))  # a loop is no error here, other than to `resolve`
    is_beside = target.parent == folder.parent.resolve()
    return folder.is_symlink() and is_beside and not target.name.startswith(".")


def require_files(folder: Path) -> None:
    """Refuse a folder of which something that is read is a link, a pipe or a device.

    Raises:
        NotOwnFile: names it.
    """
    for name in ("config.json", "plan.jsonl", IMPORT_FILE, LOG):
        path = folder / name
        try:
            facts = path.lstat()
        except OSError:
            continue  # who reads it says why it cannot be read
        refuse_other(path, facts)


def is_ours(folder: Path) -> bool:
    """Return whether a folder holds a run of ours, or what is left of one."""
    return (folder / "config.json").exists() or (folder / "plan.jsonl").exists()


def log_stat(folder: Path) -> LogStat:
    """Return size and time of a folder's log; zeros while there is none."""
    try:
        facts = (folder / LOG).stat()
    except OSError:
        return NO_LOG
    return LogStat(facts.st_size, facts.st_mtime_ns)


def line_of(problem: str, log: Path) -> int:
    """Return the number of the line that a problem is about; 0 when it is about no line."""
    # The folder of runs may have been named another way, or have been elsewhere, at that time.
    number = problem.partition(f"{log.parent.name}/{log.name}:")[2].partition(":")[0]
    return int(number) if number.isdecimal() else 0


def torn_tail(log: Path, covered: int, seen: LogStat) -> list[str]:
    """Return what is wrong with the end of a log."""
    if seen.size < covered:
        again = f"; `{restore_command(log.parent)}` writes it again" * is_planned(log.parent)
        return [
            f"{log}: is {counted(covered - seen.size, 'byte')} shorter than what the lake holds "
            f"of it; the lake's rows are used{again}"
        ]
    if seen.size > covered:
        n_bytes = counted(seen.size - covered, "byte")
        return [f"{log}: its end is a torn line or not mirrored yet ({n_bytes})"]
    return []


@dataclass(frozen=True)
class Synced:
    """What a sync did."""

    n_runs: int = 0
    """Runs of which something was brought in."""
    n_rows: int = 0
    """Results and events that were brought in."""
    problems: tuple[str, ...] = ()
    """What was found wrong now."""
    n_with_problems: int = 0
    """Runs of which problems are known, of earlier syncs as well."""
    known_problems: tuple[str, ...] = ()
    """Of these runs, what was found now included."""
    n_compacted: int = 0
    """Files of the lake that were put into larger ones."""
    set_aside: tuple[str, ...] = ()
    """Damaged files of the lake, each with what became of its rows."""
    n_lost_rows: int = 0
    """Rows of them that could not be made again, now or by the next sync."""
    read_only: bool = False
    """The lake cannot be written, so it is read as it is."""


def changed(folders: Iterable[tuple[str, LogStat]], manifest: Manifest) -> list[str]:
    """Return the names of the run folders that changed since they were brought in."""
    known, runs_dir = manifest.runs, manifest.lake.parent
    names = []
    for name, log in folders:
        seen = known.get(name)
        if seen is None or seen[1:3] != log:  # size and time
            names.append(name)
        elif seen.is_pruned or (seen.is_complete and not seen.refused_as):
            continue
        elif not seen.is_complete or seen.refused_as != folder_state(runs_dir / name):
            names.append(name)
    return sorted(names)


def with_known_problems(synced: Synced, manifest: Manifest) -> Synced:
    """Return what a sync did with the problems of all runs that the lake knows of."""
    bad = [seen.problems for _, seen in sorted(manifest.runs.items()) if seen.problems]
    known = tuple(problem for problems in bad for problem in problems)
    return replace(synced, n_with_problems=len(bad), known_problems=known)

"""What can be told of one run folder, and of the end of its log, by looking at them."""

from __future__ import annotations

import os
from pathlib import Path

from schemas.errors import counted, restore_command
from schemas.io.own_files import refuse_other
from schemas.run.layout import IMPORT_FILE, LOG, NO_LOG, LogSeen, is_planned


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


def log_seen(folder: Path) -> LogSeen:
    """Return size and time of a folder's log; zeros while there is none."""
    try:
        facts = (folder / LOG).stat()
    except OSError:
        return NO_LOG
    return LogSeen(facts.st_size, facts.st_mtime_ns)


def line_of(problem: str, log: Path) -> int:
    """Return the number of the line that a problem is about; 0 when it is about no line."""
    # The folder of runs may have been named another way, or have been elsewhere, at that time.
    number = problem.partition(f"{log.parent.name}/{log.name}:")[2].partition(":")[0]
    return int(number) if number.isdecimal() else 0


def torn_tail(log: Path, covered: int, seen: LogSeen) -> list[str]:
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

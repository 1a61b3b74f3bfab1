"""Takes rows out of the lake: those of named runs, and stretches that do not fit their log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from schemas.lake.layout import TABLE_NAMES, TRASH
from schemas.lake.rewrite import rewriting
from schemas.lake.tables import LakeFile, Part, files_of, parts_of, read_lake_file
from schemas.lake.transaction import LakeBusy, lake_lock, swap

LOCK_WAIT_S = 10.0
"""For another process that replaces files; it holds the lock for one month's files at a time."""

Going = Callable[[Part], bool]


def prune(lake: Path, run_ids: Collection[str], tables: Iterable[str] = TABLE_NAMES) -> int:
    """Remove all rows of some runs, and return how many there were.

    Whoever mirrors one of them meanwhile would bring its rows back: the caller sees to that.

    Raises:
        LakeBusy: another process is rewriting files of the lake.
        OSError: the lake cannot be written.
    """
    going = frozenset(run_ids)
    with lake_lock(lake, LOCK_WAIT_S):
        return sum(_prune_table(lake, table, going) for table in tables)


def _prune_table(lake: Path, table: str, going: frozenset[str]) -> int:
    whole: dict[str, list[LakeFile]] = {}
    n_rows = 0
    for path in sorted({path for run_id in going for path in files_of(lake, table, run_id)}):
        file = read_lake_file(path)
        if all(part.run_id in going for part in file.parts):
            whole.setdefault(path.parent.name.removeprefix("month="), []).append(file)
        else:
            n_rows += _without(lake, table, file, lambda part: part.run_id in going)
    for month, files in whole.items():
        swap(lake, table, month, [file.path.name for file in files], None)
        n_rows += sum(file.n_rows for file in files)
    return n_rows


def remove_part(lake: Path, table: str, file: LakeFile, part: Part) -> None:
    """Remove one stretch of one run; the caller holds the run's lock.

    Raises:
        LakeBusy: another process is putting it into another file, or rewrites the lake.
        OSError: the lake cannot be written.
    """
    if len(file.parts) > 1:
        with lake_lock(lake, LOCK_WAIT_S):
            holders = [now for now, same in parts_of(lake, table, part.run_id) if same == part]
            if not holders:
                raise LakeBusy(lake)
            # Another part of the file may have been removed since: it has another name then.
            holders.sort(key=lambda now: now.path.name != file.path.name)
            _without(lake, table, holders[0], lambda other: other == part)
            return
    if file.path.is_relative_to(lake / TRASH):
        raise LakeBusy(lake)
    try:
        file.path.unlink()
    except FileNotFoundError as exc:
        raise LakeBusy(lake) from exc


def _without(lake: Path, table: str, file: LakeFile, is_going: Going) -> int:
    """Replace a file by one without some of its parts; return how many rows went."""
    stay = [part for part in file.parts if not is_going(part)]
    month = file.path.parent.name.removeprefix("month=")
    write = rewriting(table, [(file, stay)], lambda run_id: parts_of(lake, table, run_id))
    if swap(lake, table, month, [file.path.name], write) is None:
        raise LakeBusy(lake)
    return sum(part.n_rows for part in file.parts if is_going(part))

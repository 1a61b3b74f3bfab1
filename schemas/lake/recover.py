"""Takes rows out of the lake: those of named runs, and stretches that do not fit their run's log.

A batch is sealed text first, results last; a crash in between, or somebody who deletes a file,
leaves parts of batches behind, and a plain glob would count their rows twice. A power cut may take
back the end of a log, and other lines follow what is left of it. What is removed and still in the
log is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from schemas.lake.footer import LAYOUT, parts_of
from schemas.lake.layout import (
    TABLE_NAMES,
    TRASH,
    Coverage,
    LakeFile,
    Part,
)
from schemas.lake.log_coverage import (
    RESULT_TABLES,
    LogTables,
    covered_until,
    holds,
    is_shorter,
    require_held,
    whole_batches,
)
from schemas.lake.rewrite import rewriting
from schemas.lake.transaction import LOCK_WAIT_S, LakeBusy, lake_lock, swap

Going = Callable[[Part], bool]

Look = Callable[[str, str], list[tuple[LakeFile, Part]]]
"""Takes a table and a run; returns its parts with the files they are in."""


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
    held = {file for run_id in going for file, _ in parts_of(lake, table, run_id)}
    for file in sorted(held, key=lambda file: file.path):
        if all(part.run_id in going for part in file.parts):
            whole.setdefault(file.path.parent.name.removeprefix("month="), []).append(file)
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


def remove_cut_batches(
    lake: Path,
    run_id: str,
    log: Path,
    log_tables: LogTables = RESULT_TABLES,
    *,
    is_growing: bool,
    look: Look | None = None,
) -> Coverage:
    """Remove what was cut off of a batch, and return how far the others cover the log.

    Rows go only where the log holds what they were made of, so that they are read again. A lake
    that is ahead of its log is left alone, since it may be all that is left; where `is_growing`,
    the log is being written, and one that is too short is refused. The caller holds the run's lock,
    and may `look` up parts that have not changed since `Manifest.parts_of` learned of them.

    Raises:
        LogLost: the log is not the one that the lake holds.
        LakeBusy: rows must go that another process is putting into another file just now.
    """
    find = look or (lambda table, run_id: parts_of(lake, table, run_id))
    parts = {table: find(table, run_id) for table in log_tables.tables}
    by_table = {table: [part for _, part in found] for table, found in parts.items()}
    stay = whole_batches(log_tables, by_table)
    held = [part for found in by_table.values() for part in found]
    if is_growing or not is_shorter(log, held):
        n_rows = sum(part.n_rows for part in by_table[log_tables.tables[-1]])
        require_held(log, held, n_rows, log_tables.row)
    kept = {part.coverage for part in stay}
    for table in reversed(log_tables.tables):
        seen: set[Coverage] = set()
        for file, part in parts[table]:
            is_cut_off = part.coverage not in kept and holds(log, part.coverage)
            if is_cut_off or part.coverage in seen:
                remove_part(lake, table, file, part)
            seen.add(part.coverage)
    return covered_until(stay)


def drop_older_layout(lake: Path, run_id: str, log: Path, look: Look) -> bool:
    """Remove results of the layout before this one that the log still holds; return whether.

    They do not say which record supersedes which, and are read again. The caller holds the run's
    lock.
    """
    held = {table: look(table, run_id) for table in RESULT_TABLES.tables}
    if all(file.layout >= LAYOUT for parts in held.values() for file, _ in parts):
        return False
    if not all(holds(log, part.coverage) for parts in held.values() for _, part in parts):
        return False  # the lake may be all that is left of these rows
    for table in reversed(RESULT_TABLES.tables):
        for file, part in held[table]:
            if file.layout < LAYOUT:
                remove_part(lake, table, file, part)
    return True

"""Holds the lake against a run's log: what stays, what is removed because it will be read again.

A batch is sealed text first, results last; a crash in between, or somebody who deletes a file,
leaves parts of batches behind, and a plain glob would count their rows twice. A power cut may take
back the end of a log, and other lines follow what is left of it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from schemas.lake.log_coverage import holds, is_shorter, require_held
from schemas.lake.tables import LAYOUT, parts_of
from schemas.parts import (
    BATCH_TABLES,
    Coverage,
    LakeFile,
    Part,
    covered_until,
    whole_batches,
)
from schemas.prune import remove_part

Look = Callable[[str, str], list[tuple[LakeFile, Part]]]
"""Takes a table and a run; returns its parts with the files they are in."""


def put_right(
    lake: Path, run_id: str, log: Path, *, is_growing: bool, look: Look | None = None
) -> Coverage:
    """Remove what was cut off of a batch, and return how far the others cover the log.

    Rows go only where the log holds what they were made of, so that they are read again. A lake
    that is ahead of its log is left alone, since it may be all that is left.

    Args:
        lake: the lake; the caller holds the run's lock.
        run_id: the run.
        log: its results.jsonl.
        is_growing: the log is being written, so that one that is too short is refused as well.
        look: where the run's parts are, for a caller who knows that they have not changed since
            `Manifest.parts_of` learned of them; by default the lake's files are asked.

    Raises:
        LogLost: the log is not the one that the lake holds.
        LakeBusy: rows must go that another process is putting into another file just now.
    """
    find = look or (lambda table, run_id: parts_of(lake, table, run_id))
    parts = {table: find(table, run_id) for table in BATCH_TABLES}
    stay = whole_batches(
        [part for _, part in parts["results"]], [part for _, part in parts["outputs"]]
    )
    held = [part for table in BATCH_TABLES for _, part in parts[table]]
    if is_growing or not is_shorter(log, held):
        require_held(log, held, sum(part.n_rows for _, part in parts["results"]))
    kept = {part.coverage for part in stay}
    for table in reversed(BATCH_TABLES):
        seen: set[Coverage] = set()
        for file, part in parts[table]:
            is_cut_off = part.coverage not in kept and holds(log, part.coverage)
            if is_cut_off or part.coverage in seen:
                remove_part(lake, table, file, part)
            seen.add(part.coverage)
    return covered_until(stay)


def drop_older_layout(lake: Path, run_id: str, log: Path, look: Look) -> bool:
    """Remove stretches of the layout before this one that the log still holds; return whether.

    They do not say which record supersedes which, and are read again.

    Args:
        lake: the lake; the caller holds the run's lock.
        run_id: the run.
        log: its results.jsonl.
        look: where the run's parts are.
    """
    held = {table: look(table, run_id) for table in BATCH_TABLES}
    if all(file.layout >= LAYOUT for parts in held.values() for file, _ in parts):
        return False
    if not all(holds(log, part.coverage) for parts in held.values() for _, part in parts):
        return False  # the lake may be all that is left of these rows
    for table in reversed(BATCH_TABLES):
        for file, part in held[table]:
            if file.layout < LAYOUT:
                remove_part(lake, table, file, part)
    return True

"""Holds the lake against a run's log: what stays, what is removed because it will be read again.

A batch is sealed text first, results last; a crash in between, or somebody who deletes a file,
leaves parts of batches behind, and a plain glob would count their rows twice. A power cut may take
back the end of a log, and other lines follow what is left of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from schemas.lake import LAYOUT, parts_of
from schemas.parts import (
    BATCH_TABLES,
    Coverage,
    LakeFile,
    Part,
    covered_until,
    unbroken,
    whole_batches,
)
from schemas.prune import remove_part

TAIL_BYTES = 4_096
"""How much of the log before its end identifies a stretch: a whole line or more, with times."""

Look = Callable[[str, str], list[tuple[LakeFile, Part]]]
"""Takes a table and a run; returns its parts with the files they are in."""


def put_right(
    lake: Path, run_id: str, log: Path, *, log_rules: bool, look: Look | None = None
) -> Coverage:
    """Remove the parts of a run that do not fit, and return how far the others cover its log.

    Args:
        lake: the lake; the caller holds the run's lock.
        run_id: the run.
        log: its results.jsonl.
        log_rules: the log is being written, so rows that it does not hold (any more) go. Else a
            lake that is ahead of its log is left alone, since it may be all that is left.
        look: where the run's parts are, for a caller who knows that they have not changed since
            `Manifest.parts_of` learned of them; by default the lake's files are asked.

    Raises:
        LakeBusy: rows must go that another process is putting into another file just now.
    """
    find = look or (lambda table, run_id: parts_of(lake, table, run_id))
    parts = {table: find(table, run_id) for table in BATCH_TABLES}
    stay = whole_batches(
        [part for _, part in parts["results"]], [part for _, part in parts["outputs"]]
    )
    if log_rules or covered_until(stay).end <= _size(log):
        stay = unbroken(part for part in stay if holds(log, part.coverage))
    kept = {part.coverage for part in stay}
    for table in reversed(BATCH_TABLES):
        seen: set[Coverage] = set()
        for file, part in parts[table]:
            if part.coverage not in kept or part.coverage in seen:
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
    if covered_until(part for _, part in held["results"]).end > _size(log):
        return False  # the lake may be all that is left of these rows
    for table in reversed(BATCH_TABLES):
        for file, part in held[table]:
            if file.layout < LAYOUT:
                remove_part(lake, table, file, part)
    return True


def tail_before(log: Path, end: int) -> str:
    """Return a hash of the bytes before a place of the log, which tells it from another log."""
    return _hash(_before(log, end))


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def holds(log: Path, coverage: Coverage) -> bool:
    """Return whether the log holds the end of a stretch as it was when it was sealed."""
    if coverage.end > _size(log):
        return False
    last = _before(log, coverage.end)
    return last.endswith(b"\n") and coverage.tail in {"", _hash(last)}


def _before(log: Path, end: int) -> bytes:
    start = max(0, end - TAIL_BYTES)
    with log.open("rb") as file:
        file.seek(start)
        return file.read(end - start)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]

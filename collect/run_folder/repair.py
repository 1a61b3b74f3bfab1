"""Puts right what kill -9 or a power cut left in a run's folder, before the run goes on.

Only what no reader could have used is cut: bytes after the last newline of a log, and what
follows the last whole trace of an artifact file. A line that ended in a newline is never
touched, however broken, since the lake may have counted it already; readers skip it. A whole trace
stays even where no result points at it: it is an answer.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import BinaryIO

from schemas.errors import counted
from schemas.io.files import TEMPORARY
from schemas.io.own_files import open_own, open_own_file
from schemas.run.layout import EVALUATIONS, LOG
from schemas.run.result import loose_content_of
from schemas.run.trace import PADDING_MAGIC, REFERENCE, frames_end, whole_frame

STALE_S = 600.0
"""A temporary file this old belongs to nobody any more."""

BLOCK_BYTES = 1 << 16
MAX_PADDING_BYTES = 2**32 - 1
MAX_NAMED_LINES = 3
"""Broken lines that are named by number; of more, only how many there are."""


def repair(run_dir: Path) -> list[str]:
    """Make a run's folder fit for more lines, and return what was done, in sentences.

    The caller holds the run's lock. Done twice, the second time does nothing.

    Raises:
        OSError: the folder cannot be written.
    """
    notes = _cut_tail(run_dir, LOG)
    if (run_dir / EVALUATIONS).exists():
        notes += _cut_tail(run_dir, EVALUATIONS)
    offsets, broken = _read_log(run_dir)
    if broken:
        places = ", ".join(str(number) for number in broken[:MAX_NAMED_LINES])
        more = f" and {len(broken) - MAX_NAMED_LINES} more" if len(broken) > MAX_NAMED_LINES else ""
        notes.append(f"{LOG}: line {places}{more} cannot be read; kept, and skipped by all")
    found = {f"artifacts/{path.name}" for path in (run_dir / "artifacts").glob("*.jsonl.zst")}
    for name in sorted(found | offsets.keys()):
        notes += _repair_artifacts(run_dir, name, sorted(offsets.get(name, ())))
    return notes + _remove_stale(run_dir)


def _growing(run_dir: Path, name: str) -> BinaryIO:
    """Return a file of the run, open for reading, and for writing at its end."""
    return os.fdopen(open_own(run_dir, name, os.O_RDWR | os.O_CREAT | os.O_APPEND), "ab+")


def _cut_tail(run_dir: Path, name: str) -> list[str]:
    """End a log at a newline: a line that only lacks its own gets it, any other rest is cut."""
    with _growing(run_dir, name) as file:
        size = file.seek(0, os.SEEK_END)
        end = _after_last_newline(file, size)
        if end == size:
            return []
        file.seek(end)
        rest = file.read()
        if loose_content_of(rest) is not None:
            file.write(b"\n")
            file.flush()
            return _durable(file.fileno(), f"{name}: its last line lacked the newline")
        file.truncate(end)
        said = f"{name}: a torn last line was cut off ({counted(size - end, 'byte')})"
        return _durable(file.fileno(), said)


def _durable(handle: int, note: str) -> list[str]:
    os.fsync(handle)
    return [note]


def _after_last_newline(file: BinaryIO, size: int) -> int:
    for start in range((size - 1) // BLOCK_BYTES * BLOCK_BYTES, -1, -BLOCK_BYTES):
        file.seek(start)
        if (found := file.read(BLOCK_BYTES).rfind(b"\n")) >= 0:
            return start + found + 1
    return 0


def _read_log(run_dir: Path) -> tuple[dict[str, list[int]], list[int]]:
    """Return where lines say their traces begin, by file, and the numbers of broken results."""
    offsets: dict[str, list[int]] = {}
    broken = []
    for name in (LOG, EVALUATIONS):
        if name != LOG and not (run_dir / name).exists():
            continue
        with open_own_file(run_dir, name) as file:
            for number, line in enumerate(file, start=1):
                if (row := loose_content_of(line)) is None:
                    broken += [number] * (name == LOG)
                    continue
                place = row.get("artifact_path")
                if isinstance(place, str) and (match := REFERENCE.fullmatch(place)):
                    offsets.setdefault(match[1], []).append(int(match[2]))
    return offsets, broken


def _repair_artifacts(run_dir: Path, name: str, offsets: list[int]) -> list[str]:
    """Cut what follows the last whole trace.

    Where results point at traces that a power cut took, the place is filled with a frame that
    readers skip: no later trace may come to lie where an older result looks for its own.
    """
    with _growing(run_dir, name) as file:
        size = file.seek(0, os.SEEK_END)
        keep = 0
        for offset in reversed(offsets):
            frame = whole_frame(file, offset) if offset < size else None
            if frame is not None:
                keep = offset + len(frame)
                break
        keep = frames_end(file, keep)
        lost = [offset for offset in offsets if offset >= keep]
        padding = _padding(lost[-1] + 1 - keep) if lost else []
        if size == keep and not lost:
            return []
        file.truncate(keep)
        for head, length in padding:
            file.write(head)
            file.flush()
            file.truncate(file.seek(0, os.SEEK_END) + length)
        os.fsync(file.fileno())
    if lost:
        return [
            f"{name}: {counted(len(lost), 'trace is', 'traces are')} lost; every result is kept"
        ]
    return [f"{name}: the torn end of a trace was cut off ({counted(size - keep, 'byte')})"]


def _padding(at_least: int) -> list[tuple[bytes, int]]:
    """Return skippable frames, as head and number of zeros, that take up so many bytes or more."""
    frames = []
    while at_least > 0:
        length = max(0, min(at_least - 8, MAX_PADDING_BYTES))
        frames.append((PADDING_MAGIC + length.to_bytes(4, "little"), length))
        at_least -= 8 + length
    return frames


def _remove_stale(run_dir: Path) -> list[str]:
    """Remove temporary files that are old: the child of a dead collector may still write one."""
    stale = [
        path
        for path in run_dir.glob(f"{TEMPORARY}*")
        if path.is_file() and time.time() - path.stat().st_mtime > STALE_S
    ]
    for path in stale:
        path.unlink(missing_ok=True)
    return [f"{len(stale)} half-written files were removed"] if stale else []

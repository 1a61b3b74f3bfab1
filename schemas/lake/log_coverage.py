"""Whether a log of a run holds what the lake took from it.

The log is on the disk before a sealed file covers it, so a lake that is ahead of its log means that
somebody deleted, emptied, shortened or replaced the log. Then the lake's rows may be all that is
left of answers that were paid for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from schemas.errors import LogLost, counted
from schemas.io.own_files import open_own_file
from schemas.lake.footer import parts_of
from schemas.lake.layout import Coverage, Part, lake_of, month_of
from schemas.lake.logs import RESULT_TABLES
from schemas.run.layout import LOG

TAIL_BYTES = 4_096
"""How much of the log before its end identifies a stretch: a whole line or more, with times."""


@dataclass
class LakeLines:
    """What the lake holds of one log."""

    lines: dict[int, bytes] = field(default_factory=dict)
    """By line number, from 1."""
    n_lines: int = 0
    """How long the log was; lines that nobody could read are in no table."""


@dataclass
class LakeLog(LakeLines):
    """What the lake holds of one run's results, and of its evaluations and plan."""

    from_traces: list[int] = field(default_factory=list)
    """Lines whose text is not in the lake and came from a trace."""
    without_text: list[tuple[str, str, int]] = field(default_factory=list)
    """Trials whose text is nowhere: their line has none, and says that it was cut."""
    plan: list[bytes] = field(default_factory=list)
    evaluations: LakeLines = field(default_factory=LakeLines)


def size_of(log: Path) -> int:
    """Return the bytes of a log; 0 while there is none."""
    try:
        return log.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0


def tail_before(log: Path, end: int) -> str:
    """Return a hash of the bytes before a place of the log, which tells it from another log."""
    return _hash(_read_tail(log, end))


def is_shorter(log: Path, parts: Iterable[Part]) -> bool:
    """Return whether a log ends before a stretch that is in the lake."""
    return max((part.coverage.end for part in parts), default=0) > size_of(log)


def holds(log: Path, coverage: Coverage) -> bool:
    """Return whether the log holds the end of a stretch as it was when it was sealed."""
    if coverage.end > size_of(log):
        return False
    if not coverage.end:
        return True
    last = _read_tail(log, coverage.end)
    return last.endswith(b"\n") and coverage.tail in {"", _hash(last)}


def require_log(run_dir: Path, started_at_ms: int) -> None:
    """Refuse a run whose log does not hold what the lake took from it.

    Raises:
        LogLost: it is shorter, or holds other lines.
        SchemaError: a file of the lake that bears the run's name cannot be read.
    """
    lake, months = lake_of(run_dir.parent), (month_of(started_at_ms),)
    parts = {
        table: parts_of(lake, table, run_dir.name, months, passes_damage=True)
        for table in RESULT_TABLES.tables
    }
    n_rows = sum(part.n_rows for _, part in parts["results"])
    held = [one for found in parts.values() for _, one in found]
    require_held(run_dir / LOG, held, n_rows, RESULT_TABLES.row)


def require_held(log: Path, parts: Iterable[Part], n_rows: int, row: str) -> None:
    """Refuse a log that does not hold every stretch of it, in any table, that is in the lake.

    Raises:
        LogLost: it is shorter, or holds other lines.
    """
    coverages = {part.coverage for part in parts}
    if all(holds(log, coverage) for coverage in coverages):
        return
    end = max(coverage.end for coverage in coverages)
    held = f"{counted(n_rows, row)} ({counted(end, 'byte')})"
    size = size_of(log)
    if not log.exists():
        found = "there is no such file"
    elif size < end:
        found = f"it has {counted(size, 'byte')}"
    else:
        found = f"it has {counted(size, 'byte')} with other lines in them"
    raise LogLost(log, held, found)


def _read_tail(log: Path, end: int) -> bytes:
    start = max(0, end - TAIL_BYTES)
    with open_own_file(log.parent, log.name) as file:
        file.seek(start)
        return file.read(end - start)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]

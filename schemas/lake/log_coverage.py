"""The logs of a run, which tables they become, and whether one holds what the lake took from it.

The log is on the disk before a sealed file covers it, so a lake that is ahead of its log means that
somebody deleted, emptied, shortened or replaced the log. Then the lake's rows may be all that is
left of answers that were paid for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from schemas.errors import LogLost, counted
from schemas.io.own_files import open_own_file
from schemas.lake.footer import parts_of
from schemas.lake.layout import NO_COVERAGE, Coverage, Part, lake_of, month_of
from schemas.run.layout import EVALUATIONS, LOG

STEP_TABLES = ("step_texts", "steps")
"""Made of the traces of trials."""

STEPS_VERSION = 2
"""Of how steps are made: those of runs that were brought in before it are made again."""

NO_STEP_TEXTS = "manifest/no_step_texts"
"""Is in a lake that takes no texts of steps."""

TAIL_BYTES = 4_096
"""How much of the log before its end identifies a stretch: a whole line or more, with times."""


class LogTables(NamedTuple):
    """A log in a run's folder, and the tables that its lines become."""

    name: str
    """Of the file."""
    row: str
    """What a line of it is, in words."""
    tables: tuple[str, ...]
    """Of one batch, in the order of sealing: the last one says that it is complete."""
    derived: tuple[str, ...] = ()
    """Those of them whose rows are made of traces, and are not lines of the log."""

    text_table: str | None = None
    """The one of them without which no row of the last one counts."""

    @property
    def line_tables(self) -> tuple[str, ...]:
        """Return the tables in which a line of the log has one row, in one of them."""
        return tuple(set(self.tables) - {self.text_table, *self.derived})


RESULT_TABLES = LogTables(
    LOG, "result", ("outputs", *STEP_TABLES, "events", "results"), STEP_TABLES, "outputs"
)
EVALUATION_TABLES = LogTables(
    EVALUATIONS,
    "evaluation",
    ("judge_iterations", "judgements", "pair_iterations", "preferences", "evaluations"),
)

LOGS = (RESULT_TABLES, EVALUATION_TABLES)
"""Every log of a run; the parts of a table cover the one log that it is made of."""

LOG_OF_TABLE = {table: log for log in LOGS for table in log.tables}


def unbroken(parts: Iterable[Part]) -> list[Part]:
    """Return the parts of a run that cover its log from byte 0 without gap or overlap, in order."""
    chain: list[Part] = []
    for part in sorted(parts, key=lambda part: (part.coverage.start, part.coverage.end)):
        if part.coverage.start == (chain[-1].coverage.end if chain else 0):
            chain.append(part)
    return chain


def covered_until(parts: Iterable[Part]) -> Coverage:
    """Return the stretch from byte 0 that the parts of a run cover without a gap."""
    chain = unbroken(parts)
    last = chain[-1].coverage if chain else NO_COVERAGE
    return Coverage(0, last.end, 0, last.lines_after, last.tail)


def whole_batches(log: LogTables, held: Mapping[str, Iterable[Part]]) -> list[Part]:
    """Return the parts of a run's log that are complete, as far as they are unbroken.

    Text is sealed first; a batch without its last table, or without text, was cut off.

    Args:
        log: which of its logs.
        held: the run's parts by table.
    """
    parts = held[log.tables[-1]]
    if (text_table := log.text_table) is not None:
        texts = {part.coverage for part in held[text_table]}
        parts = [part for part in parts if part.n_rows == 0 or part.coverage in texts]
    return unbroken(parts)


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
    """Refuse a run one of whose logs does not hold what the lake took from it.

    Raises:
        LogLost: it is shorter, or holds other lines.
        SchemaError: a file of the lake that bears the run's name cannot be read.
    """
    lake, months = lake_of(run_dir.parent), (month_of(started_at_ms),)
    for log in LOGS:
        parts = {
            table: parts_of(lake, table, run_dir.name, months, passes_damage=True)
            for table in log.tables
        }
        n_rows = sum(part.n_rows for _, part in parts[log.tables[-1]])
        held = [one for found in parts.values() for _, one in found]
        require_held(run_dir / log.name, held, n_rows, log.row)


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

"""The logs of a run, the tables that their lines become, and how far a table's parts cover a log.

Each table of a run's lines is made of one log: `results.jsonl`, or `evaluations.jsonl` beside it.
Loads nothing heavy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from schemas.lake.layout import NO_COVERAGE, Coverage, Part
from schemas.run.layout import EVALUATIONS, LOG


class LogTables(NamedTuple):
    """A log in a run's folder, and the tables that its lines become."""

    name: str
    """Of the file."""
    row: str
    """What a line of it is, in words."""
    tables: tuple[str, ...]
    """Of one batch, in the order of sealing: the last one says that it is complete."""

    @property
    def text_table(self) -> str | None:
        """Return the table without which no row of the last one counts, if there is one."""
        return self.tables[0] if len(self.tables) > 1 else None


RESULT_TABLES = LogTables(LOG, "result", ("outputs", "events", "results"))
EVALUATION_TABLES = LogTables(EVALUATIONS, "evaluation", ("evaluations",))

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

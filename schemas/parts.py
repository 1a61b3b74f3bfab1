"""What a sealed file of the lake holds: parts, each a stretch of one run's log.

Standard library only: the manifest, which is looked at by every command, knows files by these.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

BATCH_TABLES = ("outputs", "events", "results")
"""The tables of one batch, in the order of sealing: results say that it is complete."""


@dataclass(frozen=True)
class Coverage:
    """A stretch of results.jsonl: bytes [start, end), lines (lines_before, lines_after]."""

    start: int
    end: int
    lines_before: int
    lines_after: int
    tail: str = ""
    """Hash of the last bytes before `end`: tells whether the log still holds this stretch."""


@dataclass(frozen=True)
class Part:
    """The rows of one batch of one run, which follow each other in a file."""

    run_id: str
    coverage: Coverage
    n_rows: int


@dataclass(frozen=True)
class LakeFile:
    """One sealed file; its parts in the order of their rows."""

    path: Path
    parts: tuple[Part, ...]
    layout: int

    @property
    def n_rows(self) -> int:
        """Return how many rows the file holds."""
        return sum(part.n_rows for part in self.parts)


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
    last = chain[-1].coverage if chain else Coverage(0, 0, 0, 0)
    return Coverage(0, last.end, 0, last.lines_after, last.tail)


def whole_batches(results: Iterable[Part], outputs: Iterable[Part]) -> list[Part]:
    """Return the parts of a run's results whose text is there, as far as they are unbroken.

    Text is sealed first; a batch without results, or without text, was cut off.
    """
    texts = {part.coverage for part in outputs}
    return unbroken(part for part in results if part.n_rows == 0 or part.coverage in texts)

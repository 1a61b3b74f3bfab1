"""The glossary of a report: every number that it shows, said once; the words are in glossary.toml.

What a field means stands in its record. There it is said again only where the record says nothing,
or where a reader needs more than the record's own readers do.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from schemas.base import PassK, Record
from schemas.output.comparison import CaseChange, GroupComparison, RateDifference, Ratio, SideFacts
from schemas.output.regressions import Shift
from schemas.output.report import (
    FailureCount,
    FrontierPoint,
    HistoryPoint,
    LatencyBin,
    MatrixCell,
    ModelAnswer,
    Term,
)
from schemas.output.summary import GroupSummary, Percentiles, TokenTotals, ToolUse
from schemas.run.inventory import DiskRoot, ResourceSnapshot

RECORDS: dict[str, type[Record]] = {
    record.__name__: record
    for record in (
        CaseChange,
        DiskRoot,
        FailureCount,
        FrontierPoint,
        GroupComparison,
        GroupSummary,
        HistoryPoint,
        LatencyBin,
        MatrixCell,
        ModelAnswer,
        PassK,
        Percentiles,
        RateDifference,
        Ratio,
        ResourceSnapshot,
        Shift,
        SideFacts,
        TokenTotals,
        ToolUse,
    )
}
"""What a report is made of, by name."""

SECTIONS = (
    "answer",
    "leaderboard",
    "matrix",
    "comparison",
    "history",
    "latency",
    "frontier",
    "tiers",
    "failures",
    "resources",
)
"""Sections of a report that show numbers."""


@dataclass(frozen=True)
class Entry:
    """One number.

    Attributes:
        name: as tables and charts have it.
        field: its name in JSON, from the model or the case on.
        sections: that show it.
        record: name of the record that the last name of `field` is a field of.
        said: what it means, where the record does not say it.
        formula: how it is made.
        source: where the formula is from.
    """

    name: str
    field: str
    sections: tuple[str, ...]
    record: str
    said: str | None = None
    formula: str | None = None
    source: str | None = None

    @property
    def meaning(self) -> str:
        """What it means, in its own words or in those of its record."""
        declared = RECORDS[self.record].model_fields[self.field.rpartition(".")[2]].description
        return self.said or declared or ""


@cache
def entries() -> tuple[Entry, ...]:
    """Return every number, in the order in which a reader meets them."""
    text = (files("analyze.report") / "glossary.toml").read_text(encoding="utf-8")
    return tuple(
        Entry(**entry | {"sections": tuple(entry["sections"])})
        for entry in tomllib.loads(text)["entries"]
    )


def terms_for(sections: Collection[str]) -> tuple[Term, ...]:
    """Return the numbers of some sections, in the order in which a reader meets them.

    Args:
        sections: that the report has, of `SECTIONS`.
    """
    shown = frozenset(sections)
    return tuple(
        Term(
            name=entry.name,
            field=entry.field,
            meaning=entry.meaning,
            formula=entry.formula,
            source=entry.source,
        )
        for entry in entries()
        if not shown.isdisjoint(entry.sections)
    )

"""What every number of a report means, once for all sections; the words are in glossary.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic.fields import FieldInfo

from analyze.report.sections import SECTIONS, Section
from analyze.report.table import Cell, Column, Table
from schemas.output.report import RunReport, Term
from schemas.registry import load_object


@dataclass(frozen=True)
class Entry:
    """One number.

    Attributes:
        name: as tables and charts have it.
        field: its name in JSON, from the model or the case on.
        sections: that show it.
        record: `module:name` of the record that the last name of `field` is a field of.
        said: what it means, where the record does not say it.
        formula: how it is made.
        source: where the formula is from.
    """

    name: str
    field: str
    sections: Sequence[str]
    record: str
    said: str | None = None
    formula: str | None = None
    source: str | None = None

    @property
    def meaning(self) -> str:
        """What it means, in its own words or in those of its record."""
        fields: dict[str, FieldInfo] = load_object(self.record).model_fields
        return self.said or fields[self.field.rpartition(".")[2]].description or ""


@cache
def entries() -> tuple[Entry, ...]:
    """Return every number, in the order in which a reader meets them."""
    text = (files("analyze.report") / "glossary.toml").read_text(encoding="utf-8")
    return tuple(Entry(**entry) for entry in tomllib.loads(text)["entries"])


def terms_of(report: RunReport) -> tuple[Term, ...]:
    """Return the numbers that a report shows."""
    numbers = {name: SECTIONS[name].shows_numbers for name in SECTIONS.own}
    return terms_for(
        name
        for name, is_shown in numbers.items()
        if (is_shown(report) if is_shown else getattr(report, name, ()))
    )


def terms_for(sections: Iterable[str]) -> tuple[Term, ...]:
    """Return the numbers of some sections, in the order in which a reader meets them.

    Args:
        sections: that the report has, of `SECTIONS`.
    """
    shown = frozenset(sections)
    return tuple(
        Term.model_validate(entry, from_attributes=True)
        for entry in entries()
        if not shown.isdisjoint(entry.sections)
    )


def glossary(terms: tuple[Term, ...]) -> Table:
    """Return what every number of the report means."""
    columns = (
        Column("number", "name"),
        Column("meaning", "meaning"),
        Column("formula", "formula"),
        Column("source", "source"),
    )
    rows = [
        [
            Cell(term.name, below=term.field or ""),
            Cell(term.meaning.replace("`", "")),
            Cell(term.formula or "", look="code"),
            Cell(term.source or ""),
        ]
        for term in terms
    ]
    return Table("glossary", "What every number means", columns, rows)


GLOSSARY = Section("Glossary", show=lambda report: glossary(report.glossary))

"""The glossary of a report: every number that it shows, said once."""

from __future__ import annotations

from collections.abc import Collection

from analyze.report.glossary_terms import ENTRIES, Entry
from schemas.output.report import Term


def terms_for(sections: Collection[str]) -> tuple[Term, ...]:
    """Return the numbers of some sections, in the order in which a reader meets them.

    Args:
        sections: that the report has, of `glossary_terms.SECTIONS`.
    """
    shown = frozenset(sections)
    return tuple(_term(entry) for entry in ENTRIES if not shown.isdisjoint(entry.sections))


def _term(entry: Entry) -> Term:
    declared = entry.record.model_fields[entry.field.rpartition(".")[2]].description
    return Term(
        name=entry.name,
        field=entry.field,
        meaning=entry.said or declared or "",
        formula=entry.formula,
        source=entry.source,
    )

"""Tables of the page as values: columns with their field, cells with what they sort by.

A transcript has a name in the page, so that a matrix and a message can link to it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from schemas.output.report import ModelAnswer, ModelProvenance
from schemas.output.report_trials import Transcript
from schemas.output.summary import GroupSummary
from schemas.run.model_names import hidden_id, id_of

UNSAFE = re.compile(r"[^a-z0-9_-]")

MAX_NAME_CHARS = 48
"""Characters of a name that are kept; a longer one ends in a hash."""

Place = tuple[str, str, str, int]
"""run_id, model_id, case_id, repetition."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its title, and the field that it shows."""

    title: str
    key: str
    """Name of the field in JSON and SQL; deep links name the column by it."""
    is_number: bool = False
    meaning: str = ""
    """From the glossary, unless it says it here."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Repetitions in a row that went the same way."""

    element: str
    """Name of the element that tells how they went."""
    text: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell."""

    text: str
    value: str = ""
    """What it sorts by, where the text would not do."""
    look: str = ""
    note: str = ""
    """What a pointer that rests on it is told."""
    below: str = ""
    """A second line."""
    href: str = ""
    """Where its text leads."""
    is_unsure: bool = False
    """Too little stands behind the number."""
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a name to link to; its first column names the row."""

    name: str
    label: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    more: str = ""
    """What is left out, in a sentence; empty when all is here."""
    command: str = ""
    """That shows the rest."""

    @property
    def is_unsure(self) -> bool:
        """Whether a number of it has too little behind it."""
        return any(cell.is_unsure for row in self.rows for cell in row)


MODEL = Column("model", "model_id")


def model_cell(group: GroupSummary) -> Cell:
    """Return the name of a model, and how it was asked below."""
    return Cell(group.model_id, below=model_settings(group))


def model_settings(one: GroupSummary | ModelAnswer | ModelProvenance) -> str:
    """Return how a model was asked: `openrouter · vendor/model · thinking high`.

    Where its name does not say its model_id that comes first.
    """
    level = f"thinking {one.thinking_level}" if one.thinking_level else ""
    return " · ".join(filter(None, (hidden_id(one.model_id), one.provider, one.model, level)))


def number(text: str, value: float | None = None, *, note: str = "", look: str = "") -> Cell:
    """Return a cell that holds a number.

    Args:
        text: as it is shown; empty for null.
        value: the number itself; None: there is none, or the text is the number.
        note: what a pointer that rests on it is told.
        look: class of the cell.
    """
    return Cell(text, sort_key(text, value), f"n {look}".rstrip(), note)


def sort_key(text: str, value: float | None) -> str:
    """Return what a number sorts by; empty where its text sorts as well."""
    if value is None or not text or not isfinite(value):
        return ""
    return "" if text.replace(".", "", 1).isdigit() else f"{value:.12g}"


def explained(columns: Sequence[Column], meanings: Mapping[str, str]) -> tuple[Column, ...]:
    """Return columns with what the glossary says of their field, or of their title."""
    return tuple(
        replace(one, meaning=one.meaning or meanings.get(one.key) or meanings.get(one.title, ""))
        for one in columns
    )


def trial_anchor(model_id: str, case_id: str, repetition: int, *, is_baseline: bool = False) -> str:
    """Return the id of a trial's transcript: `trial-tiny-capital_of_france-2`, with `-base` after.

    A name with other characters than ids have ends in a hash of itself.
    """
    end = "-base" if is_baseline else ""
    return f"trial-{_safe(id_of(model_id))}-{_safe(case_id)}-{repetition}{end}"


def anchors_of(shown: Iterable[Transcript]) -> list[str]:
    """Return the id of each transcript, no two the same.

    Two can ask for the same where several runs are the baseline, or where dashes of names meet.
    """
    anchors: list[str] = []
    taken: set[str] = set()
    for one in shown:
        wanted = anchor = trial_anchor(
            one.model_id, one.case_id, one.repetition, is_baseline=one.is_baseline
        )
        n = 1
        while anchor in taken:
            n += 1
            anchor = f"{wanted}_{n}"
        taken.add(anchor)
        anchors.append(anchor)
    return anchors


def place_of(one: Transcript) -> Place:
    """Return what a link to a transcript knows of its trial."""
    return one.run_id, one.model_id, one.case_id, one.repetition


def anchors_by_place(shown: Sequence[Transcript]) -> dict[Place, str]:
    """Return the id of each transcript by its trial."""
    return dict(zip(map(place_of, shown), anchors_of(shown), strict=True))


def _safe(name: str) -> str:
    if len(name) <= MAX_NAME_CHARS and not UNSAFE.search(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{UNSAFE.sub('_', name[:MAX_NAME_CHARS].lower())}_{digest}"


def filled(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]]
) -> tuple[list[Column], list[list[Cell]]]:
    """Return a table without the columns in which no row has anything."""
    counts = Counter(n for row in rows for n, cell in enumerate(row) if cell.text)
    kept = [n for n in range(len(columns)) if counts[n]]
    return [columns[n] for n in kept], [[row[n] for n in kept] for row in rows]

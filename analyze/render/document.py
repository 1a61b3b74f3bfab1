"""What a command tells people, as parts that each printer of this folder knows.

Texts hold names from outside as they are; a printer makes them safe for its place. The screen is a
terminal or a pipe; a page is Markdown or HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from analyze.render.text import Column

Place = Literal["screen", "page"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A paragraph that begins with a label and a colon; one without is a text alone."""

    text: str
    label: str


@dataclass(frozen=True, slots=True)
class Item:
    """A point of a list with what belongs to it; the commands are never cut."""

    text: str
    notes: Sequence[str] = ()
    commands: Sequence[str] = ()
    joint: str = "; "
    """Stands on a page between the text and the first command."""
    is_strong: bool = False

    @property
    def page_text(self) -> str:
        """The text with its commands behind it."""
        if self.commands:
            return self.text + self.joint + "; ".join(self.commands)
        return self.text.replace(" -> ", " → ") if self.is_strong else self.text


@dataclass(frozen=True, slots=True)
class Items:
    """A list: lines of a screen, points of a page."""

    items: Sequence[Item | str]

    @property
    def points(self) -> list[Item]:
        """The items, each with what belongs to it."""
        return [Item(one) if isinstance(one, str) else one for one in self.items]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with their values: below each other on a screen, points of a page."""

    pairs: Sequence[tuple[str, str]]

    @property
    def points(self) -> list[Item]:
        """The same as a list."""
        return [Item(f"{name}: {value}") for name, value in self.pairs]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; nothing at all without rows."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    spare: Sequence[str] = ()
    """Titles of columns that a screen leaves out, in order, until the others fit."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines that are safe as they are; on a page they are code."""

    lines: Sequence[str]
    language: str = ""
    lead: str = ""
    """Of lines to paste: what a page says above them; a screen has them further in."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Parts for so many columns of a screen, which a page has not."""

    parts: Callable[[int], Iterable[Part]]


Part = str | Sentence | Items | Facts | Table | Lines | Fitted


@dataclass(frozen=True, slots=True)
class Section:
    """Parts that stand together; without anything in them the title is left out too."""

    parts: Sequence[Part]
    title: str = ""
    """One that ends in a colon is a label: a page has it without, and with a capital."""
    only: Place | None = None
    depth: int = 0
    """How far it is indented on a screen."""

    @property
    def heading(self) -> str:
        """The title on a page."""
        title = self.title
        return title[:1].upper() + title[1:-1] if title.endswith(":") else title


@dataclass(frozen=True, slots=True)
class Document:
    """All of it."""

    title: str
    """Of a page; on a screen the first section comes first."""
    sections: Sequence[Section]
    level: int = 1
    """Of the title among the headings of a Markdown page."""
    width: int | None = None
    """Columns that sentences take on a screen; None: all there are."""
    is_flush: bool = False
    """The lines of a sentence begin below each other, on however narrow a screen."""

    def shown(self, place: Place) -> list[Section]:
        """Return the sections that a place has."""
        return [one for one in self.sections if one.only in {None, place}]


def paragraph(text: str, label: str = "", only: Place | None = None) -> Section:
    """Return a section that is one sentence."""
    return Section([Sentence(text, label) if label else text], only=only)


def listed(
    title: str, lines: Iterable[Item | str], only: Place | None = None, *more: Part
) -> Section:
    """Return a section that is a list, with more parts below it."""
    return Section([Items(tuple(lines)), *more], title, only)

"""A document on a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analyze.render.document import (
    Document,
    Facts,
    Fitted,
    Items,
    Lines,
    Part,
    Section,
    Sentence,
    Table,
)
from analyze.render.text import MIN_WRAP_COLUMNS, facts, least_width, line_of, table, wrapped

INDENT = "  "

Broken = Callable[[str, str], list[str]]
"""A sentence on lines, each of which begins with an indentation."""

LEAST = 22
"""Columns that an indented sentence takes on however narrow a screen."""


def screen_lines(document: Document, width: int) -> list[str]:
    """Return a document as lines of a width, with an empty line between its sections."""
    lines: list[str] = []
    for section in document.shown("screen"):
        block = _section(section, document, width)
        lines += ["", *block] if lines and block else block
    return lines


def _section(section: Section, document: Document, width: int) -> list[str]:
    room = max(document.width or width, LEAST)
    hang, least = ("", 0) if document.is_flush else (INDENT, MIN_WRAP_COLUMNS)

    def broken(text: str, indent: str) -> list[str]:
        return wrapped(text, room, indent, hang=hang, least=least) if text else []

    inner = INDENT * (section.depth + bool(section.title))
    body = [line for part in section.parts for line in _lines(part, width, inner, broken)]
    if not section.title or not body:
        return body
    outer = INDENT * section.depth
    title = [line_of(section.title)] if document.is_flush else broken(section.title, outer)
    return [*title, *body]


def _lines(part: Part, width: int, indent: str, broken: Broken) -> Iterator[str]:
    match part:
        case str():
            yield from broken(part, indent)
        case Sentence(text, label):
            yield from broken(f"{label}: {text}", indent)
        case Items():
            for item in part.points:
                yield from broken(item.text, indent)
                for note in item.notes:
                    yield from broken(note, indent + INDENT)
                yield from ((indent or INDENT) + line_of(command) for command in item.commands)
        case Facts(pairs):
            yield from facts((name, line_of(value)) for name, value in pairs)
        case Table():
            yield from (indent + line for line in _table(part, width - len(indent)))
        case Lines(lines, _, lead):
            yield from (f"{indent}{INDENT if lead else ''}{line}" for line in lines)
        case Fitted(parts):
            for one in parts(width):
                yield from _lines(one, width, indent, broken)


def _table(part: Table, width: int) -> list[str]:
    """Return a table; of its columns those to spare are left out, in order, until it fits."""
    if not part.rows:
        return []
    rows: Sequence[Sequence[str]] = [[line_of(cell) for cell in row] for row in part.rows]
    if part.spare and least_width(part.columns, rows) > width:
        kept = [n for n, one in enumerate(part.columns) if one.title != part.spare[0]]
        fewer = [[row[n] for n in kept] for row in rows]
        return _table(Table([part.columns[n] for n in kept], fewer, part.spare[1:]), width)
    return table(part.columns, rows, width)

"""A document on a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyze.render.document import (
    Code,
    Document,
    Facts,
    Fitted,
    Items,
    Part,
    Section,
    Sentence,
    Table,
    Wrap,
)
from analyze.render.text import UNLIMITED, facts, least_width, line_of, table, wrapped

INDENT = "  "

LEAST = 22
"""Columns that an indented sentence takes on however narrow a screen."""


def screen_lines(document: Document, width: int) -> list[str]:
    """Return a document as lines of a width, with an empty line between its sections."""
    lines: list[str] = []
    for section in document.shown("screen"):
        block = _section(section, width, document.wrap)
        lines += ["", *block] if lines and block else block
    return lines


def _section(section: Section, width: int, wrap: Wrap) -> list[str]:
    depth = section.depth + bool(section.title)
    body = [line for part in section.parts for line in _lines(part, width, wrap, INDENT * depth)]
    if not section.title or not body:
        return body
    indent = INDENT * section.depth
    title = _wrapped(section.title, width if wrap.least else UNLIMITED, wrap, indent)
    return [*title, *body]


def _wrapped(text: str, width: int, wrap: Wrap, indent: str) -> list[str]:
    room = max(width if wrap.width is None else wrap.width, LEAST)
    return wrapped(text, room, indent, hang=wrap.hang, least=wrap.least) if text else []


def _lines(part: Part | str, width: int, wrap: Wrap, indent: str) -> Iterator[str]:
    match part:
        case str():
            yield part
        case Sentence(text, label):
            yield from _wrapped(f"{label}: {text}" if label else text, width, wrap, indent)
        case Items():
            for item in part.points:
                yield from _wrapped(item.text, width, wrap, indent)
                for note in item.notes:
                    yield from _wrapped(note, width, wrap, indent + INDENT)
                yield from ((indent or INDENT) + line_of(command) for command in item.commands)
        case Facts(pairs):
            yield from facts((name, line_of(value)) for name, value in pairs)
        case Table():
            yield from (indent + line for line in _table(part, width - len(indent)))
        case Code(lines):
            yield from (f"{indent}{INDENT}{line}" for line in lines)
        case Fitted(parts):
            for one in parts(width):
                yield from _lines(one, width, wrap, indent)


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

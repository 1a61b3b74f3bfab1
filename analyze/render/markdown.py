"""A document as Markdown, in which everything from outside is text and nothing else.

It can neither end a cell nor become a link, markup or a terminal command.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from analyze.render.document import Document, Facts, Item, Items, Lines, Part, Sentence, Table
from schemas.redact import spelled

ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})

MARKUP = re.compile(r"[\\`|*\[\]~]|(?<![^\W_])_|_(?![^\W_])")
"""Characters that Markdown acts on; an underscore inside a word it leaves alone."""


def markdown_page(document: Document) -> str:
    """Return a document as Markdown: an empty line between blocks, a list right below its lead."""
    blocks = [[f"{'#' * document.level} {as_text(document.title)}"]]
    for section in document.shown("page"):
        body: list[list[str]] = []
        for part in section.parts:
            lines = _lines(part)
            if body and lines and isinstance(part, Facts | Items):
                body[-1] += lines
            elif lines:
                body.append(lines)
        if section.title and body:
            level = document.level + 1 + section.depth
            blocks.append([f"{'#' * level} {as_text(section.heading)}"])
        blocks += body
    return "\n\n".join(map("\n".join, blocks)) + "\n"


def _lines(part: Part) -> list[str]:
    match part:
        case str():
            return [as_text(part)] if part else []
        case Sentence(text, label):
            return [as_text(f"{label.capitalize()}: {text}")]
        case Items() | Facts():
            return [line for item in part.points for line in _item(item)]
        case Table(columns, rows):
            cells = [[as_text(cell) for cell in row] for row in rows]
            return markdown_rows([column.title for column in columns], cells)
        case Lines(lines, language, lead):
            return [*([as_text(lead), ""] if lead else []), f"```{language}", *lines, "```"]
    return []


def _item(item: Item) -> list[str]:
    text = as_text(item.page_text)
    below = [f"  - {as_text(note)}" for note in item.notes]
    return [f"- **{text}**" if item.is_strong else f"- {text}", *below]


def markdown_rows(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table in Markdown of cells that are safe already; nothing at all without rows."""
    if not rows:
        return []
    return [f"| {' | '.join(line)} |" for line in (titles, ["---"] * len(titles), *rows)]


def as_text(text: str) -> str:
    """Return text that Markdown and a terminal show as it is, on one line."""
    safe = " ".join(text.split())
    safe = spelled(safe, lambda _: "\N{REPLACEMENT CHARACTER}", _is_harmless)
    return MARKUP.sub(r"\\\g<0>", safe).translate(ENTITIES)


def _is_harmless(char: str) -> bool:
    return unicodedata.category(char) not in {"Cc", "Cf", "Cs"}

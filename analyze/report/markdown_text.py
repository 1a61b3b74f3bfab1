"""Text, commands, tables and lists of a report as Markdown: text from outside is text only."""

from __future__ import annotations

import re
from collections.abc import Sequence

from analyze.render.markdown import as_text, markdown_rows
from analyze.render.numbers import whole
from analyze.render.text import clipped, safe

MAX_ROWS = 40
"""Of each table or list; the page has more, and JSON all of them."""

MAX_TEXT_CHARS = 400
"""Characters of a name or a sentence; one of an imported run can be a megabyte."""

MAX_COMMAND_CHARS = 1_000
"""A command that is cut would do something else, so that a longer one is left out."""

BACKTICKS = re.compile("`+")


def plain(text: str, most: int = MAX_TEXT_CHARS) -> str:
    """Return text from outside on one line, as text only."""
    return as_text(clipped(text, most))


def command_text(command: str) -> str:
    """Return a command as it is typed, which no Markdown in it can leave."""
    typed = safe(" ".join(command.split()))
    if not typed or len(command) > MAX_COMMAND_CHARS:
        return ""
    fence = "`" * (1 + max(map(len, BACKTICKS.findall(typed)), default=0))
    pad = " " if "`" in (typed[0], typed[-1]) else ""
    return f"{fence}{pad}{typed}{pad}{fence}"


def table_lines(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table of cells that are safe already; nothing at all without rows."""
    return markdown_rows(titles, rows[:MAX_ROWS]) + _more(len(rows), "")


def list_lines(title: str, lines: Sequence[str]) -> list[str]:
    """Return a list under a title; nothing at all without lines."""
    kept = [f"- {line}" for line in lines if line]
    if not kept:
        return []
    return [f"## {title}", "", *kept[:MAX_ROWS], *_more(len(kept), "- ")]


def _more(n_all: int, mark: str) -> list[str]:
    """Return how many more there are; after a table an empty line ends it first."""
    if n_all <= MAX_ROWS:
        return []
    line = f"{mark}and {whole(n_all - MAX_ROWS)} more"
    return [line] if mark else ["", line]

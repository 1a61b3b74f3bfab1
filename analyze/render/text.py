"""Plain text for terminals and pipes: tables that fit, and text from outside that is only text.

Names, answers and messages of servers are hostile (D-H5): whatever a terminal would obey is shown
as the escape that Python writes for it. No colours, so that a pipe gets the same.

A record for programs is JSON: unrounded, in the order of its fields, one line a value.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from schemas.redact import spelled

if TYPE_CHECKING:
    from schemas.base import Record

GAP = "  "
CUT = "…"

Side = Literal["left", "right"]

UNLIMITED = 10_000
"""Columns of a pipe: nothing is cut, so that every line can be searched."""


@dataclass(frozen=True)
class Column:
    """One column of a table: its title, its side, and the fewest cells it can be cut to."""

    title: str
    side: Side = "left"
    least: int | None = None
    """None: never cut."""
    is_name: bool = False
    """Two that differ are never cut to the same."""


MIN_WRAP_COLUMNS = 40
"""Columns below which sentences are no longer broken."""


def screen_width() -> int:
    """Return the columns that there are: of the terminal, of COLUMNS, or no limit on a pipe."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    return UNLIMITED


def line_of(text: str) -> str:
    """Return text on one line, without anything a terminal obeys."""
    return safe(" ".join(text.split()))


def wrapped(
    text: str, width: int, indent: str = "", *, hang: str = "  ", least: int = MIN_WRAP_COLUMNS
) -> list[str]:
    """Return a sentence on lines that fit; nothing in it is obeyed by a terminal, no word is cut.

    Args:
        text: the sentence.
        width: columns that there are.
        indent: of every line.
        hang: what each line but the first has beside.
        least: columns below which the sentence is not broken.
    """
    if width < least:
        return [indent + line_of(text)]
    return textwrap.wrap(
        line_of(text),
        width,
        initial_indent=indent,
        subsequent_indent=indent + hang,
        break_long_words=False,
        break_on_hyphens=False,
    )


def clipped(text: str, most: int) -> str:
    """Return at most so many characters of a text, and a sign where it goes on."""
    return text if len(text) <= most else text[:most] + CUT


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, each without anything a terminal obeys."""
    return [safe(line.expandtabs(4)) for line in text.replace("\r\n", "\n").split("\n")]


def safe(text: str) -> str:
    r"""Return text with every control and direction character as its escape, such as `\x1b`."""
    return spelled(text, keeps=_is_shown)


def _is_shown(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"


@lru_cache(maxsize=4096)
def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: wide characters take two."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def _cells_of(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def fit(text: str, width: int) -> str:
    """Return a text cut to a number of columns, with a mark where it was cut."""
    if cells(text) <= width:
        return text
    return _first(text, width - 1) + CUT


def fit_apart(texts: Iterable[str], width: int) -> dict[str, str]:
    """Return names cut to a number of columns, of which two that differ still do.

    They are cut in their middle, since most names that are alike begin alike; where that does not
    tell them apart they are cut at their end, and else stay longer than asked.
    """
    names = set(texts)
    longest = max(map(cells, names), default=0)
    for room in range(min(width, longest), longest + 1):
        for cut in (fit_middle, fit):
            made = {name: cut(name, room) for name in names}
            if len(set(made.values())) == len(names):
                return made
    return {name: name for name in names}


def fit_middle(text: str, width: int) -> str:
    """Return a text cut to a number of columns in its middle; the end keeps more than the head."""
    if cells(text) <= width:
        return text
    head = (width - 1) // 3
    return _first(text, head) + CUT + _first(text[::-1], width - 1 - head)[::-1]


def _first(text: Iterable[str], width: int) -> str:
    """Return the first characters that so many columns hold."""
    kept, used = [], 0
    for char in text:
        used += _cells_of(char)
        if used > width:
            break
        kept.append(char)
    return "".join(kept)


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return a table as lines, title first; what can be cut is cut until it fits.

    Columns without anything in them are left out.

    Args:
        columns: what stands above each cell.
        rows: cells that are safe already, as many as columns.
        width: columns of the terminal; cells that are never cut may pass it.
    """
    columns, rows = _filled(columns, rows)
    titles = [column.title for column in columns]
    widths = widths_of(titles, rows)
    if (excess := needed(widths) - width) > 0:
        _shrink(_leasts(columns, rows), widths, excess)
    shown = [list(row) for row in rows]
    for n, column in enumerate(columns):
        if column.is_name:
            cut = fit_apart((row[n] for row in rows), widths[n])
            for row in shown:
                row[n] = cut[row[n]]
    sides = [column.side for column in columns]
    heads = heads_apart(titles, widths) or titles
    return [row_line(row, widths, sides) for row in (heads, *shown)]


def heads_apart(heads: Sequence[str], widths: Sequence[int]) -> list[str] | None:
    """Return headings cut to their widths, none like another; None: they cannot be."""
    for cut in (fit, fit_middle):
        made = [cut(head, width) for head, width in zip(heads, widths, strict=True)]
        if len(set(made)) == len(made):
            return made
    return None


def _filled(
    columns: Sequence[Column], rows: Sequence[Sequence[str]]
) -> tuple[list[Column], list[list[str]]]:
    """Return a table without its empty columns; one without rows keeps all."""
    kept = [n for n in range(len(columns)) if not rows or any(row[n] for row in rows)]
    return [columns[n] for n in kept], [[row[n] for n in kept] for row in rows]


def _leasts(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int | None]:
    """Return the fewest columns of a terminal that each column can be cut to; None: it is not."""
    found: list[int | None] = []
    for n, column in enumerate(columns):
        least = column.least
        if least is not None and column.is_name:
            names = fit_apart((row[n] for row in rows), least)
            least = max([least, *map(cells, names.values())])
        found.append(least)
    return found


def widths_of(titles: Iterable[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the columns of a terminal that each column of a table wants."""
    return [max([cells(title), *(cells(row[n]) for row in rows)]) for n, title in enumerate(titles)]


def needed(widths: Sequence[int]) -> int:
    """Return the columns of a terminal that a table of these widths takes."""
    return sum(widths) + len(GAP) * (len(widths) - 1)


def widths_fit(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether a table fits a terminal with nothing cut."""
    columns, rows = _filled(columns, rows)
    return needed(widths_of([column.title for column in columns], rows)) <= width


def least_width(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> int:
    """Return the columns of a terminal that a table takes when all is cut that can be."""
    columns, rows = _filled(columns, rows)
    widths = widths_of([column.title for column in columns], rows)
    leasts = zip(widths, _leasts(columns, rows), strict=True)
    return needed([width if least is None else min(width, least) for width, least in leasts])


def _shrink(leasts: Sequence[int | None], widths: list[int], excess: int) -> None:
    """Take columns away one by one, always from the widest that can still give."""
    for _ in range(excess):
        spare = [n for n, least in enumerate(leasts) if least is not None and widths[n] > least]
        if not spare:
            return
        widths[max(spare, key=lambda n: widths[n])] -= 1


def row_line(row: Sequence[str], widths: Sequence[int], sides: Iterable[Side]) -> str:
    """Return a row as a line."""
    return GAP.join(map(padded, row, widths, sides)).rstrip()


def padded(text: str, width: int, side: Side = "left") -> str:
    """Return a text cut to a number of columns, or with room on its other side."""
    text = fit(text, width)
    room = " " * (width - cells(text))
    return room + text if side == "right" else text + room


def facts(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield `name  value` lines with the values below each other; empty values are left out."""
    kept = [(name, value) for name, value in pairs if value]
    room = max((cells(name) for name, _ in kept), default=0)
    for name, value in kept:
        yield f"{name}{' ' * (room - cells(name))}  {value}"


def record_json(record: Record) -> str:
    """Return a record as JSON; what a terminal would obey is written as an escape (D-H5)."""
    return json.dumps(record.model_dump(mode="json"), indent=2)

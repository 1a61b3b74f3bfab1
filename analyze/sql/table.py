"""An answer as text: a table for a terminal, a table in Markdown.

What models wrote is hostile: no character of it that a terminal would obey gets out as it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from analyze.render.text import cells, fit, heads_apart, needed
from analyze.sql.ask import Column
from schemas.redact import spelled

NULL = "null"

NARROWEST = 8
"""Columns are cut no narrower than this to fit a terminal; then rows become blocks of lines."""


def cell_text(value: Any) -> str:
    """Return a value as one line of text, its control characters spelled out."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list | dict | tuple):
        return spelled(json.dumps(value, ensure_ascii=False, default=str))
    return spelled(str(value))


def _number(value: float) -> str:
    """Return a float with at most 6 digits behind the point, and no zeros at the end."""
    if not math.isfinite(value) or (value and not 1e-4 <= abs(value) < 1e15):
        return f"{value:g}"
    text = f"{value:.6f}".rstrip("0")
    return f"{text}0" if text.endswith(".") else text


def table(
    columns: Sequence[Column], rows: Sequence[Sequence[Any]], *, width: int | None = None
) -> str:
    """Return rows as an aligned table, numbers to the right.

    Args:
        columns: of the rows.
        rows: their values.
        width: of the terminal; cells are cut so that a row fits into one line, and where that
            leaves too little of them each row becomes a block of lines. None: nothing is cut.
    """
    heads = [spelled(column.name) for column in columns]
    texts = [[cell_text(value) for value in row] for row in rows]
    widths = [
        max([cells(head), *(cells(row[place]) for row in texts)])
        for place, head in enumerate(heads)
    ]
    if width is not None and needed(widths) > width:
        if needed([min(NARROWEST, natural) for natural in widths]) > width:
            return _blocks(heads, texts, width)
        widths = _fitted(widths, width)
        if (cut_heads := heads_apart(heads, widths)) is None:
            return _blocks(heads, texts, width)
        heads = cut_heads
    right = [column.is_number for column in columns]
    lines = [_line(heads, widths, right), "  ".join("-" * wide for wide in widths)]
    lines += [_line(row, widths, right) for row in texts]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _fitted(widths: Sequence[int], width: int) -> list[int]:
    """Return widths that fit: the widest columns give way until they do."""
    fitted = list(widths)
    while needed(fitted) > width:
        widest = max(fitted)
        second = max((wide for wide in fitted if wide < widest), default=NARROWEST)
        places = [place for place, wide in enumerate(fitted) if wide == widest]
        over = needed(fitted) - width
        share = min(widest - second, -(-over // len(places)))
        for place in places:
            fitted[place] -= min(share, needed(fitted) - width)
    return fitted


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return "  ".join(map(_padded, row, widths, right))


def _padded(text: str, width: int, to_right: bool) -> str:
    text = fit(text, width)
    space = " " * (width - cells(text))
    return space + text if to_right else text + space


def _blocks(heads: Sequence[str], texts: Sequence[Sequence[str]], width: int) -> str:
    """Return each row as a block of lines, one a column."""
    left = min(max(map(cells, heads)), width // 2)
    blocks = [
        "".join(
            f"{_padded(head, left, to_right=False)}  {fit(text, width - left - 2)}".rstrip() + "\n"
            for head, text in zip(heads, row, strict=True)
        )
        for row in texts
    ]
    return ("-" * width + "\n").join(blocks)


def markdown(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as a table in Markdown; nothing in a cell is markup."""
    from analyze.summary.summary_table import as_text  # noqa: PLC0415 - brings the models along

    heads = [as_text(spelled(column.name)) for column in columns]
    rule = ["---:" if column.is_number else "---" for column in columns]
    body = [[as_text(cell_text(value)) for value in row] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in [heads, rule, *body])

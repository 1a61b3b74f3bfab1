"""Names along an axis: of any length, on as many lines as they need, and only text.

Names come from outside (D-H5): what would act as text is shown as its escape.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import altair as alt

from analyze.charts.theme import IS_NARROW, STEP
from analyze.render.text import line_of

if TYPE_CHECKING:
    import polars as pl

NARROW, WIDE = 20, 36
"""Characters in one line of a name."""

CHARACTER, LINE = 7, 14
"""Width of a character and height of a line, in px."""

_BREAK = r"(?=.{%d})(.{%d,%d}[-_/.:@ ]|.{%d})"
"""Where more than a line is left: after a mark that joins words, if one is near its end."""


def chosen(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Return the columns that a chart draws, each text on one line and without anything that acts.

    Args:
        frame: has these columns, and maybe more.
        columns: their names.
    """
    import polars as pl  # noqa: PLC0415 - loaded already

    picked = frame.select(columns)
    texts = [name for name, kind in picked.schema.items() if kind == pl.String]
    return picked.with_columns(
        pl.col(name).replace_strict(
            {text: line_of(text) for text in picked[name].unique().drop_nulls()},
            return_dtype=pl.String,
        )
        for name in texts
    )


def rows_of(field: str, names: Sequence[str]) -> alt.Y:
    """Return an axis with a row for each name, in their order.

    The order is the scale's domain: a list to sort by would become an expression of the names, in
    which `constructor` is not a name any more.
    """
    scale = alt.Scale(domain=list(names))
    return alt.Y(f"{field}:N", scale=scale, sort=None, axis=name_axis())


def name_axis() -> alt.Axis:
    """Return an axis of names that are broken into lines, shorter ones where there is no room."""
    narrow, wide = (
        f"split(replace(datum.label, /{_break(size)}/gu, '$1\\n'), '\\n')"
        for size in (NARROW, WIDE)
    )
    lines = f"({IS_NARROW} ? {narrow} : {wide})"
    return alt.Axis(
        title=None, labelExpr=lines, labelLineHeight=LINE, labelOverlap=False,
        labelOffset=alt.ExprRef(f"{-LINE / 2} * (length{lines} - 1)"), labelPadding=8,
        ticks=False, domain=False,
    )  # fmt: skip


def axis_width(names: Sequence[str]) -> str:
    """Return an expression of the width of an axis of names, in px."""
    longest = max(map(len, names), default=0)
    narrow, wide = (CHARACTER * min(longest, size) + 20 for size in (NARROW, WIDE))
    return f"({IS_NARROW} ? {narrow:.0f} : {wide:.0f})"


def height_of(names: Sequence[str], step: int = STEP) -> int:
    """Return the height of a chart with a row for each name, in px.

    Args:
        names: each once.
        step: height of a row whose name is on one line, in px.
    """
    lines = max((len(folded(name)) for name in names), default=1)
    return len(names) * max(step, LINE * lines + 8)


def folded(name: str, size: int = NARROW) -> list[str]:
    """Return the lines of a name."""
    return re.sub(_break(size), "\\1\n", name).split("\n")


def shortened(name: str, most: int) -> str:
    """Return a name without its middle, where models of one family are alike, if it is too long."""
    if len(name) <= most:
        return name
    tail = (most - 1) // 2
    return f"{name[: most - 1 - tail]}…{name[-tail:]}"


def _break(size: int) -> str:
    return _BREAK % (size + 1, size // 2, size - 1, size)

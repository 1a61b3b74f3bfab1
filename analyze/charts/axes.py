"""Axes of charts: names on as many lines as they need, log scales, and labels beside points.

Names come from outside (D-H5): what would act as text is shown as its escape.

Costs and times spread over powers of ten, and ticks stand at round numbers. A free model has no
place on a log scale: then the scale is linear below the smallest cost that is there, so that zero
can stand beside the others.

Labels beside points do not overlap. One without room is left out: the tooltip of its point and the
table still have it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import altair as alt
import polars as pl

from analyze.charts.theme import IS_NARROW, STEP, Part
from analyze.render.text import line_of

NARROW, WIDE = 20, 36
"""Characters in one line of a name."""

CHARACTER, LINE = 7, 14
"""Width of a character and height of a line, in px."""

_BREAK = r"(?=.{%d})(.{%d,%d}[-_/.:@ ]|.{%d})"
"""Where more than a line is left: after a mark that joins words, if one is near its end."""

MIN_RATIO = 6.0
"""Of the ends of an axis: so that it has two ticks at least."""

MAX_TICKS = 10

MILLIS = (
    "datum.value < 1000 ? format(datum.value, ',~g') + ' ms' "
    ": format(datum.value / 1000, ',~g') + ' s'"
)
USD = "datum.value ? '$' + format(datum.value, datum.value < 1 ? '.1~r' : ',~r') : '$0'"
"""Texts of ticks."""

LABEL_CHARACTER, LABEL_LINE = 6.7, 12.0
"""Width of a character and height of a line, in px, rather too much than too little."""

MARK = 7.0
"""Half of what a point takes, in px."""


def columns_of(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Return the columns that a chart draws, each text on one line and without anything that acts.

    Args:
        frame: has these columns, and maybe more.
        columns: their names.
    """
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
    scale = Part(domain=list(names))
    return alt.Y(f"{field}:N", scale=scale, sort=None, axis=name_axis())


def name_axis() -> Part:
    """Return an axis of names that are broken into lines, shorter ones where there is no room."""
    narrow, wide = (
        f"split(replace(datum.label, /{_break(size)}/gu, '$1\\n'), '\\n')"
        for size in (NARROW, WIDE)
    )
    lines = f"({IS_NARROW} ? {narrow} : {wide})"
    return Part(
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


@dataclass(frozen=True)
class LogRange:
    """What an axis spans; `low` is positive, and `from_zero` adds the zero before it."""

    low: float
    high: float
    from_zero: bool

    @property
    def scale(self) -> Part:
        """Return the scale; what lies beyond an end stands on it."""
        if self.from_zero:
            return Part(type="symlog", constant=self.low, domain=[0, self.high], clamp=True)
        return Part(type="log", domain=[self.low, self.high], nice=False, clamp=True)

    def axis(self, title: str, label: str) -> Part:
        """Return an axis with round ticks.

        Args:
            title: of the axis.
            label: an expression of a tick's text, such as `MILLIS`.
        """
        ticks = ticks_of(self.low, self.high)
        return Part(
            title=title, values=[0.0, *ticks] if self.from_zero else ticks, labelExpr=label,
            labelOverlap="greedy",
        )  # fmt: skip

    def place(self, value: float) -> float:
        """Return where a value stands between the ends, 0 to 1."""
        if self.from_zero:
            return math.log1p(max(value, 0) / self.low) / math.log1p(self.high / self.low)
        inside = min(max(value, self.low), self.high)
        return math.log(inside / self.low) / math.log(self.high / self.low)


def log_range(values: Iterable[float | None], pad: float = 1.15) -> LogRange | None:
    """Return an axis on which values can stand; None when none of them is positive.

    Args:
        values: zero or positive; None is left out.
        pad: what the ends are beyond the values, as a factor.
    """
    known = [value for value in values if value is not None]
    positive = [value for value in known if value > 0]
    if not positive:
        return None
    low, high = min(positive) / pad, max(positive) * pad
    if high / low < MIN_RATIO:
        middle, half = math.sqrt(low * high), math.sqrt(MIN_RATIO)
        low, high = middle / half, middle * half
    return LogRange(low, high, from_zero=len(positive) < len(known))


def ticks_of(low: float, high: float) -> list[float]:
    """Return round numbers between two positive ends: 1, 2, 5, 10, or powers of ten alone."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for mantissas in ((1, 2, 5), (1,)):
        ticks = [float(f"{digit}e{power}") for power in powers for digit in mantissas]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= MAX_TICKS:
            return inside
    return inside[:: math.ceil(len(inside) / MAX_TICKS)]


class Point(NamedTuple):
    """A point in px from the upper left corner, with its name."""

    x: float
    y: float
    name: str


class Place(NamedTuple):
    """Where a name stands from its point, in px, and which side of it is fixed."""

    align: str
    dx: float
    dy: float


SIDES = (
    Place("left", 8, -12),
    Place("left", 8, 12),
    Place("right", -8, -12),
    Place("right", -8, 12),
    Place("left", 11, 0),
    Place("right", -11, 0),
    Place("center", 0, -15),
    Place("center", 0, 15),
)
"""Beside the lines of both intervals first, and on one of them when all else is taken."""


@dataclass(frozen=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def placements(points: Sequence[Point], width: float, height: float) -> list[Place | None]:
    """Return where each name stands, None where there is no room for it.

    Args:
        points: the more important ones first.
        width: of what the points lie in, in px.
        height: the same, in px.
    """
    marks = [_Box(x - MARK, y - MARK, x + MARK, y + MARK) for x, y, _ in points]
    taken: list[_Box] = []
    found: list[Place | None] = []
    for point in points:
        for side in SIDES:
            box = _box(point, side)
            if box.left < 0 or box.right > width or box.top < -MARK or box.bottom > height:
                continue
            if any(map(box.meets, taken)) or any(map(box.meets, marks)):
                continue
            taken.append(box)
            found.append(side)
            break
        else:
            found.append(None)
    return found


def _box(point: Point, side: Place) -> _Box:
    length = LABEL_CHARACTER * len(point.name)
    x, y = point.x + side.dx, point.y + side.dy
    left = {"left": x, "center": x - length / 2, "right": x - length}[side.align]
    return _Box(left, y - LABEL_LINE / 2, left + length, y + LABEL_LINE / 2)

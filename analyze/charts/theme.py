"""What every chart has in common: roles of colour, sizes, the look of axes, and words.

A chart names roles (`INK`, `WORSE`), never colours: these come from one of three palettes, so that
one chart is right on white, on black, and in a page whose style decides. The colours are those of
Okabe and Ito (2008), which colour-blind people tell apart; yellow is left out, since it is lost on
white.

Numbers in tooltips and descriptions are rounded by `analyze.render.numbers` and drawn as texts: a
chart says what its table says.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import altair as alt
import polars as pl

from analyze.render.numbers import limits_of, percent

Palette = MappingProxyType[str, str]

Part = dict[str, Any]
"""An axis, a scale or a legend: the library's own objects hold each of their ninety settings, and
every layer of a chart copies them several times."""

LIGHT: Palette = MappingProxyType(
    {
        "ink": "#1f2328", "quiet": "#6e7781", "grid": "#d8dee4", "paper": "#ffffff",
        "better": "#009E73", "worse": "#D55E00", "same": "#6e7781", "middle": "#f5e6c8",
        "c0": "#0072B2", "c1": "#D55E00", "c2": "#009E73", "c3": "#CC79A7", "c4": "#E69F00",
        "c5": "#56B4E9", "c6": "#000000",
    }
)  # fmt: skip
"""Blue, vermilion, green, purple, orange, sky, black."""

DARK: Palette = MappingProxyType(
    {
        "ink": "#e6edf3", "quiet": "#9da7b1", "grid": "#3d444d", "paper": "#0d1117",
        "better": "#2fbf96", "worse": "#ff8b4d", "same": "#9da7b1", "middle": "#4a4437",
        "c0": "#4aa8e0", "c1": "#ff8b4d", "c2": "#2fbf96", "c3": "#e29cc4", "c4": "#f0b840",
        "c5": "#a5d8f5", "c6": "#ffffff",
    }
)  # fmt: skip
"""The same hues, light enough for a dark ground."""

CSS: Palette = MappingProxyType(
    {role: f"var(--{role})" for role in LIGHT if role != "middle"} | {"middle": LIGHT["middle"]}
)
"""Variables of a page: drawn as attributes of SVG they follow light, dark and print by themselves.

Between two colours only a real one can stand, so `middle` is no variable.
"""

INTERVAL = "95 % interval"

MAX_NAMED_MODELS = 6
"""Models that a description tells of, before it counts the others."""


def role(name: str) -> alt.ExprRef:
    """Return a colour of the palette, by its role."""
    return alt.ExprRef(name)


INK, QUIET, GRID, PAPER = role("ink"), role("quiet"), role("grid"), role("paper")
BETTER, WORSE, SAME = role("better"), role("worse"), role("same")
COLOURS = tuple(role(f"c{number}") for number in range(7))

WIDTH = 520
"""Of a picture without its axes, in px; a page sets its own."""

PICTURE_WIDTH = 640
"""With its axes, about."""

STEP = 26
"""Height of one line of names, in px."""

FONT = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"

MAX_LEGEND_CHARS = 34
"""Characters of a label: it has room on a telephone."""

IS_NARROW = "containerSize()[0] < 480"
"""As on a telephone; never so in a picture."""


def legend_below(
    labels: Iterable[str], axis_width: str, title: str | None = None, **look: Any
) -> Part:
    """Return a legend under a chart, with as many columns as there is room for.

    Args:
        labels: what stands in it; long ones lose their middle.
        axis_width: an expression of what the axis takes to the left of it, in px.
        title: of the legend.
        look: whatever else a legend can be told.
    """
    longest = min(MAX_LEGEND_CHARS, max(map(len, labels), default=1))
    there = f"(containerSize()[0] || {PICTURE_WIDTH}) - {axis_width}"
    return Part(
        title=title, orient="bottom", symbolOpacity=1,
        columns=alt.ExprRef(f"max(1, floor(({there}) / {8 * longest + 30}))"),
        labelExpr=f"truncate(datum.label, {MAX_LEGEND_CHARS}, 'center')", **look,
    )  # fmt: skip


def config_of(palette: Palette) -> dict[str, Any]:
    """Return the Vega-Lite config that gives every chart its look."""
    ink, quiet, grid = palette["ink"], palette["quiet"], palette["grid"]
    titles = {"titleColor": quiet, "titleFontSize": 12, "titleFontWeight": "normal"}
    labels = {"labelColor": ink, "labelFontSize": 12, "labelLimit": 280}
    colours = [palette[f"c{number}"] for number in range(len(COLOURS))]
    return {
        "font": FONT,
        "background": palette["paper"],
        "padding": 12,
        "params": [{"name": name, "value": colour} for name, colour in palette.items()],
        "view": {"stroke": None},
        "title": {
            "color": ink, "fontSize": 15, "fontWeight": 600, "anchor": "start", "offset": 12,
            "subtitleColor": quiet, "subtitleFontSize": 12, "subtitlePadding": 4,
        },
        "axis": {
            **labels, **titles, "gridColor": grid, "domainColor": grid, "tickColor": grid,
            "labelSeparation": 6,
        },
        "axisXQuantitative": {"labelFlush": 14},
        "axisXTemporal": {"labelFlush": 14},
        "legend": {
            **labels, **titles, "symbolStrokeWidth": 2, "rowPadding": 4,
        },
        "text": {"color": ink, "fontSize": 12},
        "range": {"category": colours},
    }  # fmt: skip


def finished(
    chart: alt.TopLevelMixin, title: str, subtitle: str, description: str, height: int
) -> Any:
    """Return a chart with its words and the look of all others, on white.

    Args:
        chart: whose marks and axes are there; it is changed, since to copy one takes long.
        title: says what is seen, in a few words.
        subtitle: says what the marks are, such as the kind of interval.
        description: says it with the main numbers, to those who cannot see it.
        height: of the picture without its axes, in px.
    """
    sized: Any = chart
    sized.title = alt.TitleParams(text=title, subtitle=subtitle)
    sized.description, sized.width, sized.height = description, WIDTH, height
    sized.config = config_of(LIGHT)
    return sized


def with_origin(chart: Any, origin: str) -> Any:
    """Return a chart that says below its title where it is from, whoever drew it.

    One of a package may have no title, or a plain text, or lines of its own below it.
    """
    title = chart.title
    if title is alt.Undefined:
        return chart.properties(title=origin)
    if isinstance(title, str | list):
        title = alt.TitleParams(text=title)
    below = title.subtitle
    lines = [] if below is alt.Undefined else below if isinstance(below, list) else [below]
    own = title.copy(deep=False)
    own.subtitle = [*lines, origin]
    return chart.properties(title=own)


def themed(chart: Any, palette: Palette) -> Any:
    """Return a finished chart in the colours of a palette."""
    painted = chart.copy(deep=False)
    painted.config = config_of(palette)
    return painted


def share_axis(title: str) -> Part:
    """Return an axis of a rate between 0 and 1, in percent."""
    return Part(title=title, format="%", values=[0, 0.25, 0.5, 0.75, 1])


SHARE = Part(domain=[0, 1])
"""A rate: always the whole of it, so that two charts can be held side by side."""


def constant(channel: Any, value: Any) -> Any:
    """Return a channel that has one value everywhere, by its class such as `alt.XValue`."""
    return channel(value)


def where(channel: Any, test: str, value: Any, otherwise: Any) -> Any:
    """Return a channel that has one value where a test holds, and another one elsewhere.

    As an object: the library takes milliseconds to make one of what `alt.condition` returns.

    Args:
        channel: its class for values, such as `alt.FillValue`.
        test: an expression.
        value: where it holds.
        otherwise: elsewhere.
    """
    return channel(otherwise, condition={"test": test, "value": value})


def tip(rows: Mapping[str, str]) -> alt.ExprRef:
    """Return a tooltip.

    Args:
        rows: title to an expression of the value beside it.
    """
    cells = [f"{json.dumps(title)}: {value}" for title, value in rows.items()]
    return alt.ExprRef("{" + ", ".join(cells) + "}")


def d3_text(column: str, form: str = "") -> str:
    """Return an expression of a column's value in a d3 format, `unknown` where there is none."""
    field = f"datum[{json.dumps(column)}]"
    value = f"format({field}, {json.dumps(form)})" if form else field
    return f"isValid({field}) ? {value} : 'unknown'"


class Limits(NamedTuple):
    """An interval of a rate, as rows of a chart have it."""

    low: float | None
    high: float | None
    estimate: float | None


def with_texts(rows: pl.DataFrame, **texts: Iterable[str]) -> pl.DataFrame:
    """Return rows with further columns of texts, null where a text is empty."""
    return rows.with_columns(
        pl.Series(name, [text or None for text in column], dtype=pl.String)
        for name, column in texts.items()
    )


def with_rates(
    rows: pl.DataFrame, rate: str, limits: Sequence[str], *bounds: float
) -> pl.DataFrame:
    """Return rows with `rate_text` and `limits_text`, as tables have them.

    Args:
        rows: a rate each.
        rate: name of its column.
        limits: names of the columns of its interval: low, high, and the mean that it is of.
        bounds: those that the rates are held against.
    """
    values = [(row[0], Limits(*row[1:])) for row in rows.select(rate, *limits).iter_rows()]
    return with_texts(
        rows,
        rate_text=(share(one, *bounds) for one, _ in values),
        limits_text=(limits_of(one, found, *bounds) for one, found in values),
    )


def listed(parts: Sequence[str], most: int = MAX_NAMED_MODELS) -> str:
    """Return parts of a sentence; the last ones are only counted when there are too many."""
    more = len(parts) - most
    return "; ".join(parts[:most]) + (f"; and {more} more" if more > 0 else "")


def share(rate: float | None, *bounds: float) -> str:
    """Return a rate in percent, as it is said: `87.5 %`; empty for none."""
    return "" if rate is None else f"{percent(rate, *bounds)} %"

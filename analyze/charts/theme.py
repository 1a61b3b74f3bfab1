"""What every chart has in common: colours that colour-blind people tell apart, sizes, words.

The colours are those of Okabe and Ito (2008), the darker ones first, since yellow is lost on white.
"""

from __future__ import annotations

from typing import Any

import altair as alt

INK = "#1f2328"
QUIET = "#6e7781"
GRID = "#d8dee4"

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Blue, vermilion, green, purple, orange, sky, black."""

BETTER, WORSE, SAME = "#009E73", "#D55E00", "#6e7781"

WIDTH = 520
"""Of a chart without its axes, in px."""

STEP = 26
"""Height of one line of names, in px."""

FONT = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"


def finished(chart: alt.TopLevelMixin, title: str, subtitle: str | None = None) -> Any:
    """Return a chart with its title and the look of all others.

    Args:
        chart: whose marks and axes are there.
        title: says what is seen, in a few words.
        subtitle: says what the marks are, such as the kind of interval.
    """
    params: dict[str, Any] = {"text": title, "anchor": "start"}
    if subtitle is not None:
        params["subtitle"] = subtitle
    titled = chart.properties(title=alt.TitleParams(**params))
    return (
        titled.configure(font=FONT, background="white", padding=12)
        .configure_view(stroke=None)
        .configure_title(
            color=INK, fontSize=15, fontWeight=600, subtitleColor=QUIET, subtitleFontSize=12,
            subtitlePadding=4, offset=12,
        )
        .configure_axis(
            labelColor=INK, titleColor=QUIET, labelFontSize=12, titleFontSize=12,
            titleFontWeight="normal", gridColor=GRID, domainColor=GRID, tickColor=GRID,
            labelLimit=240,
        )
        .configure_legend(
            labelColor=INK, titleColor=QUIET, labelFontSize=12, titleFontSize=12,
            titleFontWeight="normal", labelLimit=240,
        )
        .configure_header(labelColor=INK, labelFontSize=12, titleColor=QUIET, labelLimit=240)
        .configure_range(category=list(COLOURS))
    )  # fmt: skip


def rated(base: alt.Chart, rate: str, interval: str, title: str) -> tuple[alt.Chart, alt.Chart]:
    """Return the line of an interval and the point of its rate, along x.

    Args:
        base: has the data and what stands along y.
        rate: name of the column.
        interval: what the columns of its limits begin with; they end in `_low` and `_high`.
        title: of the axis.
    """
    line = base.mark_rule(strokeWidth=3, color=COLOURS[0], opacity=0.45).encode(
        x=alt.X(f"{interval}_low:Q", scale=SHARE, axis=share_axis(title)), x2=f"{interval}_high:Q"
    )
    point = base.mark_point(filled=True, size=90, color=COLOURS[0], opacity=1).encode(
        x=alt.X(f"{rate}:Q", scale=SHARE)
    )
    return line, point


def share_axis(title: str) -> alt.Axis:
    """Return an axis of a rate between 0 and 1, in percent."""
    return alt.Axis(title=title, format="%", tickCount=5)


SHARE = alt.Scale(domain=[0, 1])
"""A rate: always the whole of it, so that two charts can be held side by side."""

"""What quality costs, in money or in time: which models no other beats in both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import altair as alt
import polars as pl

from analyze.charts import Chart, axes, theme
from analyze.charts.leaderboard import has_other_means, ticks_said, with_estimate
from analyze.query.frames import frame
from analyze.render.numbers import millis, usd
from schemas.errors import counted

By = Literal["cost", "time"]

HEIGHT = 300

MAX_WIDENING = 4.0
"""What intervals may widen the axis beyond the values at its ends, as a factor."""


class _Along(NamedTuple):
    """What stands along x: columns and words."""

    value: str
    low: str
    high: str
    best: str
    axis: str
    label: str
    form: Callable[[float | None], str]
    tip: str
    better: str
    title: str


ALONG: dict[By, _Along] = {
    "cost": _Along(
        "cost_usd_per_scored", "cost_low", "cost_high", "is_on_frontier",
        "USD per verdict, log scale", axes.USD, usd, "cost in USD", "cheaper",
        "Quality and cost",
    ),
    "time": _Along(
        "e2e_ms_mean", "e2e_ms_low", "e2e_ms_high", "is_on_time_frontier",
        "mean time of answered trials, log scale", axes.MILLIS, millis, "mean ms", "quicker",
        "Quality and time",
    ),
}  # fmt: skip

PLOT_WIDTHS = {"narrow": 200, "wide": 480}
"""In px, without the axis: names are placed for both."""

MAX_LABEL_CHARS = {"narrow": 18, "wide": 32}

MAX_NAMED_MODELS = 12
"""Models; of more only those that no other beats are named."""


def frontier(points: pl.DataFrame, by: By = "cost") -> Any:
    """Return passed rate over what a trial costs or takes, with the 95 % intervals of both.

    Args:
        points: `frame(report, "frontier")`: model_id, passed_rate, low, high, and
            cost_usd_per_scored, cost_low, cost_high, is_on_frontier, or the same of the time.
        by: what stands along x.
    """
    along = ALONG[by]
    known = (
        with_estimate(points, "estimate")
        .drop_nulls(["passed_rate", along.value])
        .sort([along.value, "passed_rate"], descending=[False, True])
    )
    rows = axes.columns_of(
        known, "model_id", "passed_rate", "low", "high", "estimate", *along[:4]
    ).rename({along.value: "x", along.low: "x_low", along.high: "x_high", along.best: "best"})
    is_alone = len(rows) == 1  # which is held against nothing
    if is_alone:
        rows = rows.with_columns(best=True)
    span = axes.log_range(_ends(rows)) or axes.LogRange(0.001, 1, from_zero=True)
    worded = theme.with_texts(
        theme.with_rates(rows, "passed_rate", ("low", "high", "estimate")),
        x_text=map(along.form, rows["x"]),
        x_limits_text=(
            _limits(low, high, along.form)
            for low, high in rows.select("x_low", "x_high").iter_rows()
        ),
    )
    drawn = worded.with_columns(
        pl.Series(name, texts) for name, texts in _names(rows, span).items()
    )
    best = rows.filter("best").select("model_id", "passed_rate", "x")
    return theme.finished(
        _layers(drawn, span, along),
        along.title,
        f"filled: no model is {along.better} and as good; " * (not is_alone)
        + "lines are 95 % intervals"
        + ticks_said(rows, "passed_rate", "estimate"),
        f"Passed rate of {counted(len(rows), 'model')} over {along.axis}. "
        + f"No model is {along.better} and as good as: " * (not is_alone)
        + theme.listed([_point_text(by, *row) for row in best.iter_rows()])
        + ".",
        HEIGHT,
    )


def _limits(low: float | None, high: float | None, form: Callable[[float | None], str]) -> str:
    return "" if low is None or high is None else f"[{form(low)}, {form(high)}]"


def _ends(rows: pl.DataFrame) -> list[float]:
    """Return the values that the axis must span; an interval far beyond them has no end on it."""
    most = max(rows["x"], default=0) * MAX_WIDENING
    least = min((value for value in rows["x"] if value > 0), default=0) / MAX_WIDENING
    lows = (max(low, least) for low in rows["x_low"].drop_nulls())
    highs = (min(high, most) for high in rows["x_high"].drop_nulls())
    return [*rows["x"], *highs, *(low for low in lows if low > 0)]


def _layers(rows: pl.DataFrame, span: axes.LogRange, along: _Along) -> Any:
    x = alt.X("x:Q", scale=span.scale, axis=span.axis(along.axis, along.label))
    y = alt.Y("passed_rate:Q", scale=theme.SHARE, axis=theme.share_axis("passed"))
    base = alt.Chart()
    line = base.transform_filter("datum.best").mark_line(
        interpolate="step-after", color=theme.COLOURS[0], opacity=0.4, strokeDash=[4, 3], aria=False
    )
    rule: dict[str, Any] = {"color": theme.QUIET, "opacity": 0.55, "aria": False}
    of_rate = base.mark_rule(**rule).encode(
        x=x,
        y=alt.Y("low:Q", scale=theme.SHARE, axis=theme.share_axis("passed")),
        y2=alt.Y2(field="high"),
    )
    of_x = base.mark_rule(**rule).encode(
        x=alt.X("x_low:Q", scale=span.scale), x2=alt.X2(field="x_high"), y=y
    )
    words = theme.tip({
        "model": "datum.model_id", "passed": theme.d3_text("rate_text"),
        theme.INTERVAL: theme.d3_text("limits_text"), along.tip: theme.d3_text("x_text"),
        f"{theme.INTERVAL} of it": theme.d3_text("x_limits_text"),
    })  # fmt: skip
    marks = base.mark_point(size=90, strokeWidth=2, opacity=1, tooltip=words).encode(
        x=x,
        y=y,
        fill=theme.where(alt.FillValue, "datum.best", theme.COLOURS[0], theme.PAPER),
        stroke=theme.where(alt.StrokeValue, "datum.best", theme.COLOURS[0], theme.QUIET),
    )
    halo = _text(base, stroke=theme.PAPER, strokeWidth=3, strokeJoin="round").encode(x=x, y=y)
    names = _text(base).encode(x=x, y=y)
    means = [_means(base, x)] if has_other_means(rows, "passed_rate", "estimate") else []
    layers = (line.encode(x=x, y=y), of_rate, of_x, *means, marks, halo, names)
    return alt.layer(*layers, data=rows)


def _means(base: alt.Chart, x: alt.X) -> Any:
    """Return a tick at the mean over cases that an interval is of."""
    tick = base.mark_tick(orient="horizontal", thickness=2, size=14, color=theme.QUIET, aria=False)
    return tick.encode(
        x=x, y=alt.Y("estimate:Q", scale=theme.SHARE, axis=theme.share_axis("passed"))
    )


def _text(base: alt.Chart, **look: Any) -> Any:
    def either(field: str) -> alt.ExprRef:
        return alt.ExprRef(f"width < 400 ? datum.narrow{field} : datum.wide{field}")

    return base.mark_text(
        text=either(""), align=either("_align"), dx=either("_dx"), dy=either("_dy"), aria=False,
        **look,
    )  # fmt: skip


def _names(rows: pl.DataFrame, span: axes.LogRange) -> dict[str, list[Any]]:
    """Return the columns of names and their places, on a narrow screen and a wide one."""
    ranked = rows.with_row_index("at").sort(
        ["best", "passed_rate"], descending=True, nulls_last=True
    )
    if len(ranked) > MAX_NAMED_MODELS:
        ranked = ranked.filter("best")
    order: list[int] = ranked["at"].to_list()
    columns: dict[str, list[Any]] = {}
    for kind, width in PLOT_WIDTHS.items():
        points = [
            axes.Point(
                width * span.place(row["x"]),
                HEIGHT * (1 - row["passed_rate"]),
                axes.shortened(row["model_id"], MAX_LABEL_CHARS[kind]),
            )
            for row in ranked.iter_rows(named=True)
        ]
        sides = axes.placements(points, width, HEIGHT)
        named = {
            at: (point.name, side) for at, point, side in zip(order, points, sides, strict=True)
        }
        columns |= _columns(kind, [named.get(at, ("", None)) for at in range(len(rows))])
    return columns


def _columns(kind: str, sides: list[tuple[str, axes.Place | None]]) -> dict[str, list[Any]]:
    return {
        kind: [name if side else "" for name, side in sides],
        f"{kind}_align": [side.align if side else "left" for _, side in sides],
        f"{kind}_dx": [side.dx if side else 0 for _, side in sides],
        f"{kind}_dy": [side.dy if side else 0 for _, side in sides],
    }


def _point_text(by: By, name: str, rate: float, value: float) -> str:
    return f"{name}, {theme.share(rate)} at " + (
        f"{usd(value)} USD" if by == "cost" else f"{millis(value)} ms"
    )


def _chart(by: By, nothing: str) -> Chart:
    return Chart(
        ("frontier",),
        lambda report: frame(report, "frontier").drop_nulls(["passed_rate", ALONG[by].value]),
        lambda rows, _: frontier(rows, by),
        nothing,
        f"frontier_{by}",
    )


FRONTIER = _chart("cost", "no trial of it has a verdict and a known cost")

FRONTIER_TIME = _chart("time", "no trial of it has a verdict and a time")

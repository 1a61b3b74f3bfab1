"""Rates of models, a row each: passed rates, and how far each can be trusted with tools.

A row has the point, its interval, and the number beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from analyze.charts import Chart, theme
from analyze.charts.axes import columns_of, height_of, rows_of
from analyze.query.frames import frame
from analyze.stats.rates import DEFAULT
from schemas.base import is_apart
from schemas.config.project import Thresholds
from schemas.errors import counted

PARTS = ("rate", "ci95_low", "ci95_high", "ci95_estimate")
"""What the columns of a rate and of its interval end in."""

TOOL_USED = "expected tool used"
"""Title of an axis."""

NUMBER_WIDTH = 60
"""From the end of the scale to the end of the number, in px."""


def rate_layers(
    rows: pl.DataFrame, what: str, title: str, n: str, bounds: Sequence[float] = ()
) -> Any:
    """Return a layer each of the lines of intervals, the points and their numbers.

    Args:
        rows: model_id, and the columns that are named here.
        what: what the columns of the rate and of its interval begin with; they end in `_rate`,
            `_ci95_low`, `_ci95_high`, and `_ci95_estimate`, the mean over cases that the interval
            is of, which gets a tick where it is another.
        title: of the axis.
        n: name of the column of how many trials stand behind it.
        bounds: those that the rates are held against.
    """
    rate, low, high, estimate = (f"{what}_{part}" for part in PARTS)
    worded = theme.with_rates(rows, rate, (low, high, estimate), *bounds)
    base = alt.Chart().encode(y=rows_of("model_id", rows["model_id"].to_list()))
    x = alt.X(f"{rate}:Q", scale=theme.SHARE, axis=theme.share_axis(title))
    line = base.mark_rule(strokeWidth=4, color=theme.COLOURS[0], opacity=0.4, aria=False).encode(
        x=alt.X(f"{low}:Q", scale=theme.SHARE, axis=theme.share_axis(title)), x2=alt.X2(field=high)
    )
    words = theme.tip({
        "model": "datum.model_id", title: theme.d3_text("rate_text"),
        theme.INTERVAL: theme.d3_text("limits_text"), "trials": theme.d3_text(n, ","),
    })  # fmt: skip
    point = base.mark_point(
        filled=True, size=90, color=theme.COLOURS[0], opacity=1, tooltip=words
    ).encode(x=x)
    number = base.mark_text(align="right", aria=False).encode(
        x=theme.constant(alt.XValue, alt.ExprRef(f"width + {NUMBER_WIDTH}")),
        text=alt.Text("rate_text:N"),
    )
    if not has_other_means(rows, rate, estimate):
        return alt.layer(line, point, number, data=worded)
    mean = base.mark_tick(thickness=2, size=14, color=theme.COLOURS[0], aria=False).encode(
        x=alt.X(f"{estimate}:Q", scale=theme.SHARE, axis=theme.share_axis(title))
    )
    return alt.layer(line, mean, point, number, data=worded)


def with_estimate(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return a frame with the column of the mean that an interval is of: nulls in one of before."""
    column = pl.col(name) if name in frame.columns else pl.lit(None)
    return frame.with_columns(column.cast(pl.Float64).alias(name))


def has_other_means(rows: pl.DataFrame, rate: str, estimate: str) -> bool:
    """Return whether some interval is of another mean than the rate it is drawn beside."""
    return any(is_apart(*pair) for pair in rows.select(rate, estimate).iter_rows())


def ticks_said(rows: pl.DataFrame, rate: str, estimate: str) -> str:
    """Return what the ticks of a chart are; nothing where it has none."""
    return ", ticks their case means" * has_other_means(rows, rate, estimate)


def _best_first(models: pl.DataFrame, what: str, n: str) -> pl.DataFrame:
    """Return the models with a rate and the columns that `rate_layers` takes."""
    rate, low, high, estimate = (f"{what}_{part}" for part in PARTS)
    known = with_estimate(models, estimate).drop_nulls(rate)
    ordered = known.sort([rate, "model_id"], descending=[True, False])
    return columns_of(ordered, "model_id", rate, low, high, estimate, n)


def leaderboard(models: pl.DataFrame) -> Any:
    """Return passed rates with their 95 % intervals, highest first.

    Args:
        models: `frame(summary, "models")` of a run's summary: model_id, passed_rate,
            passed_ci95_low, _high and _estimate, passed_ci95_n_trials.
    """
    rows = _best_first(models, "passed", "passed_ci95_n_trials")
    return theme.finished(
        rate_layers(rows, "passed", "passed", "passed_ci95_n_trials"),
        "Passed",
        "of the trials with a verdict; lines are 95 % intervals by cases"
        + ticks_said(rows, "passed_rate", "passed_ci95_estimate"),
        f"Passed rate of {counted(len(rows), 'model')} with 95 % intervals, highest first: "
        + theme.listed([_rate_text(*row) for row in rows.select(rows.columns[:4]).iter_rows()])
        + ".",
        height_of(rows["model_id"].to_list()),
    )


def _rate_text(name: str, rate: float, low: float | None, high: float | None) -> str:
    limits = "" if low is None or high is None else f" ({theme.share(low)} to {theme.share(high)})"
    return f"{name} {theme.share(rate)}{limits}"


def tiers(models: pl.DataFrame, bounds: Thresholds = DEFAULT) -> Any:
    """Return rates of tool use with 95 % intervals beside the bounds of the tiers, best first.

    Args:
        models: `frame(summary, "models")`: model_id, tool_use_rate, tool_use_ci95_low, _high and
            _estimate, tool_use_n.
        bounds: of the tiers, those in force when the run was made.
    """
    rows = _best_first(models, "tool_use", "tool_use_n")
    edges = (bounds.tier_1_from, bounds.tier_2_from)
    rates = rate_layers(rows, "tool_use", TOOL_USED, "tool_use_n", edges)
    first, second = map(theme.share, edges)
    said = [
        f"{name} {theme.share(rate, *edges)}"
        for name, rate in rows.select("model_id", "tool_use_rate").iter_rows()
    ]
    return theme.finished(
        alt.layer(*_bounds(edges), rates),
        "Tool use",
        f"tier 1 from {first}, tier 2 from {second}; lines are 95 % intervals"
        + ticks_said(rows, "tool_use_rate", "tool_use_ci95_estimate"),
        f"How often {counted(len(rows), 'model')} used an expected tool, best first: "
        f"{theme.listed(said)}. Tier 1 begins at {first}, tier 2 at {second}.",
        height_of(rows["model_id"].to_list()),
    )


def _bounds(edges: Sequence[float]) -> tuple[alt.Chart, alt.Chart]:
    """Return the line at which each tier begins, and its name."""
    named = [{"from": edge, "tier": f"tier {number}"} for number, edge in enumerate(edges, 1)]
    x = alt.X("from:Q", scale=theme.SHARE, axis=theme.share_axis(TOOL_USED))
    base = alt.Chart(alt.InlineData(named)).encode(x=x)
    line = base.mark_rule(color=theme.QUIET, strokeDash=[4, 4], aria=False)
    name = base.mark_text(
        color=theme.QUIET, fontSize=11, align="left", baseline="bottom", dx=3, dy=-3, aria=False
    ).encode(y=theme.constant(alt.YValue, 0), text="tier:N")
    return line, name


LEADERBOARD = Chart(
    ("summary",),
    lambda report: frame(report.summary, "models").drop_nulls("passed_rate"),
    lambda rows, _: leaderboard(rows),
    "no trial of it has a verdict",
    "leaderboard",
)

TIERS = Chart(
    ("summary", "thresholds"),
    lambda report: frame(report.summary, "models").drop_nulls("tool_use_rate"),
    lambda rows, report: tiers(rows, report.thresholds),
    "no case of it expects a tool",
    "tiers",
)

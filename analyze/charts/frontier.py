"""What quality costs: which models no other beats in both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import altair as alt

from analyze.charts.theme import COLOURS, INK, QUIET, SHARE, WIDTH, finished, share_axis

if TYPE_CHECKING:
    import polars as pl


def frontier(models: pl.DataFrame) -> Any:
    """Return passed rate over cost per trial with a verdict; larger marks answer slower.

    The cost is on a log scale, unless a model is free.

    Args:
        models: rows of `cost_quality` of one run with the interval of each rate: model_id,
            cost_usd_per_scored, passed_rate, passed_ci95_low and _high, e2e_ms_mean,
            is_on_frontier.
    """
    import polars as pl  # noqa: PLC0415 - loaded already

    quickest = pl.coalesce(pl.col("e2e_ms_mean").min(), pl.lit(0.0))
    known = models.drop_nulls(["passed_rate", "cost_usd_per_scored"]).with_columns(
        area=pl.col("e2e_ms_mean").fill_null(quickest)  # untimed: small, and not left out
    )
    cheapest = known["cost_usd_per_scored"].min()
    kind: Literal["log", "linear"] = (
        "log" if isinstance(cheapest, float) and cheapest > 0 else "linear"
    )
    cost = alt.X(
        "cost_usd_per_scored:Q",
        scale=alt.Scale(type=kind, padding=40, nice=False),
        axis=alt.Axis(format="$.2~g", tickCount=4),
        title=f"USD per trial with a verdict, {kind} scale",
    )
    base = alt.Chart(known).encode(
        x=cost,
        tooltip=[
            alt.Tooltip("model_id:N", title="model"),
            alt.Tooltip("passed_rate:Q", title="passed", format=".1%"),
            alt.Tooltip("cost_usd_per_scored:Q", title="USD a trial", format=".3~g"),
            alt.Tooltip("e2e_ms_mean:Q", title="mean ms", format=",.0f"),
        ],
    )
    interval = base.mark_rule(color=QUIET).encode(
        y=alt.Y("passed_ci95_low:Q", scale=SHARE, axis=share_axis("passed")),
        y2="passed_ci95_high:Q",
    )
    marks = base.mark_point(filled=True, opacity=1, stroke="white").encode(
        y="passed_rate:Q",
        size=alt.Size("area:Q", title="mean ms", scale=alt.Scale(range=[60, 400], zero=False)),
        color=alt.condition("datum.is_on_frontier", alt.value(COLOURS[0]), alt.value(QUIET)),
    )
    names = base.mark_text(align="left", dx=12, dy=-8, fontSize=12, color=INK).encode(
        y="passed_rate:Q", text="model_id:N"
    )
    chart = (interval + marks + names).properties(width=WIDTH, height=260)
    return finished(
        chart, "Quality and cost", "blue: no model is both cheaper and better; 95 % intervals"
    )

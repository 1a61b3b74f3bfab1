"""How far each model can be trusted with tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from analyze.charts.theme import COLOURS, QUIET, SHARE, STEP, WIDTH, finished, share_axis

if TYPE_CHECKING:
    import polars as pl


def tiers(models: pl.DataFrame, bounds: tuple[float, float] = (0.8, 0.5)) -> Any:
    """Return rates of tool use with 95 % intervals beside the bounds of the tiers.

    Args:
        models: `frame(summary, "models")`: model_id, tool_use_rate, tool_use_ci95_low and _high,
            tool_use_n.
        bounds: rates from which tier 1 and tier 2 begin.
    """
    known = models.drop_nulls("tool_use_rate")
    base = alt.Chart(known).encode(
        y=alt.Y("model_id:N", title=None),
        tooltip=["model_id:N", alt.Tooltip("tool_use_rate:Q", format=".1%"), "tool_use_n:Q"],
    )
    interval = base.mark_rule(strokeWidth=3, color=COLOURS[0], opacity=0.45).encode(
        x=alt.X("tool_use_ci95_low:Q", scale=SHARE, axis=share_axis("an expected tool was used")),
        x2="tool_use_ci95_high:Q",
    )
    rate = base.mark_point(filled=True, size=90, color=COLOURS[0], opacity=1).encode(
        x=alt.X("tool_use_rate:Q", scale=SHARE)
    )
    layers = [
        alt.Chart(known).mark_rule(color=QUIET, strokeDash=[4, 4]).encode(x=alt.datum(bound))
        for bound in bounds
    ]
    chart = alt.layer(*layers, interval, rate).properties(width=WIDTH, height=alt.Step(STEP + 4))
    told = f"tier 1 from {bounds[0]:.0%}, tier 2 from {bounds[1]:.0%}; lines are 95 % intervals"
    return finished(chart, "Tool use", told)

"""How far each model can be trusted with tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from analyze.charts.theme import QUIET, STEP, WIDTH, finished, rated
from analyze.metrics.tiers import DEFAULT
from schemas.thresholds import Thresholds

if TYPE_CHECKING:
    import polars as pl


def tiers(models: pl.DataFrame, bounds: Thresholds = DEFAULT) -> Any:
    """Return rates of tool use with 95 % intervals beside the bounds of the tiers.

    Args:
        models: `frame(summary, "models")`: model_id, tool_use_rate, tool_use_ci95_low and _high,
            tool_use_n.
        bounds: of the tiers, those in force when the run was made.
    """
    known = models.drop_nulls("tool_use_rate")
    base = alt.Chart(known).encode(
        y=alt.Y("model_id:N", title=None),
        tooltip=["model_id:N", alt.Tooltip("tool_use_rate:Q", format=".1%"), "tool_use_n:Q"],
    )
    interval, rate = rated(base, "tool_use_rate", "tool_use_ci95", "an expected tool was used")
    layers = [
        alt.Chart(known).mark_rule(color=QUIET, strokeDash=[4, 4]).encode(x=alt.datum(bound))
        for bound in (bounds.tier_1_from, bounds.tier_2_from)
    ]
    chart = alt.layer(*layers, interval, rate).properties(width=WIDTH, height=alt.Step(STEP + 4))
    first, second = f"{bounds.tier_1_from:.0%}", f"{bounds.tier_2_from:.0%}"
    told = f"tier 1 from {first}, tier 2 from {second}; lines are 95 % intervals"
    return finished(chart, "Tool use", told)

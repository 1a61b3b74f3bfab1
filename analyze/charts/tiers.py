"""How far each model can be trusted with tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from analyze.charts.axes import chosen, height_of
from analyze.charts.leaderboard import rated, ticks_said, with_estimate
from analyze.charts.theme import QUIET, SHARE, finished, listed, share
from analyze.stats.rates import DEFAULT
from schemas.config.project import Thresholds
from schemas.errors import counted

if TYPE_CHECKING:
    import polars as pl


def tiers(models: pl.DataFrame, bounds: Thresholds = DEFAULT) -> Any:
    """Return rates of tool use with 95 % intervals beside the bounds of the tiers, best first.

    Args:
        models: `frame(summary, "models")`: model_id, tool_use_rate, tool_use_ci95_low, _high and
            _estimate, tool_use_n.
        bounds: of the tiers, those in force when the run was made.
    """
    known = (
        with_estimate(models, "tool_use_ci95_estimate")
        .drop_nulls("tool_use_rate")
        .sort(["tool_use_rate", "model_id"], descending=[True, False])
    )
    rows = chosen(known, "model_id", "tool_use_rate", "tool_use_ci95_low", "tool_use_ci95_high",
                  "tool_use_ci95_estimate", "tool_use_n")  # fmt: skip
    rules = [
        layer
        for number, bound in ((1, bounds.tier_1_from), (2, bounds.tier_2_from))
        for layer in _bound(number, bound)
    ]
    edges = (bounds.tier_1_from, bounds.tier_2_from)
    rates = rated(
        rows, "tool_use_rate", "tool_use_ci95", "expected tool used", "tool_use_n", beside=edges
    )
    first, second = map(share, edges)
    said = [
        f"{name} {share(rate, *edges)}"
        for name, rate in rows.select("model_id", "tool_use_rate").iter_rows()
    ]
    return finished(
        alt.layer(*rules, rates),
        "Tool use",
        f"tier 1 from {first}, tier 2 from {second}; lines are 95 % intervals"
        + ticks_said(rows, "tool_use_rate", "tool_use_ci95_estimate"),
        f"How often {counted(len(rows), 'model')} used an expected tool, best first: "
        f"{listed(said)}. Tier 1 begins at {first}, tier 2 at {second}.",
        height_of(rows["model_id"].to_list()),
    )


def _bound(number: int, bound: float) -> tuple[alt.Chart, alt.Chart]:
    base = alt.Chart(alt.InlineData([{}])).encode(
        x=alt.X(datum=bound, type="quantitative", scale=SHARE)
    )
    line = base.mark_rule(color=QUIET, strokeDash=[4, 4], aria=False)
    name = base.mark_text(
        color=QUIET, fontSize=11, align="left", baseline="bottom", dx=3, dy=-3, aria=False
    ).encode(y=alt.value(0), text=alt.value(f"tier {number}"))
    return line, name

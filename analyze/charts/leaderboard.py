"""How good each model is, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from analyze.charts.theme import INK, STEP, WIDTH, finished, rated

if TYPE_CHECKING:
    import polars as pl


def leaderboard(models: pl.DataFrame) -> Any:
    """Return passed rates with their 95 % intervals, best model first.

    Args:
        models: `frame(summary, "models")` of a run's summary: model_id, passed_rate,
            passed_ci95_low and _high, passed_ci95_n_trials and _n_cases.
    """
    known = models.drop_nulls("passed_rate").sort(
        ["passed_rate", "model_id"], descending=[True, False]
    )
    names = alt.Y("model_id:N", sort=known["model_id"].to_list(), title=None)
    base = alt.Chart(known).encode(
        y=names,
        tooltip=[
            alt.Tooltip("model_id:N", title="model"),
            alt.Tooltip("passed_rate:Q", title="passed", format=".1%"),
            alt.Tooltip("passed_ci95_low:Q", title="from", format=".1%"),
            alt.Tooltip("passed_ci95_high:Q", title="to", format=".1%"),
            alt.Tooltip("passed_ci95_n_trials:Q", title="trials"),
            alt.Tooltip("passed_ci95_n_cases:Q", title="cases"),
        ],
    )
    interval, rate = rated(base, "passed_rate", "passed_ci95", "passed")
    number = base.mark_text(dy=-10, fontSize=11, color=INK).encode(
        x="passed_rate:Q", text=alt.Text("passed_rate:Q", format=".0%")
    )
    chart = (interval + rate + number).properties(width=WIDTH, height=alt.Step(STEP + 8))
    return finished(
        chart, "Passed", "of the trials with a verdict; lines are 95 % intervals by cases"
    )

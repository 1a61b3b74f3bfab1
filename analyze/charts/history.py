"""How each model did from run to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from analyze.charts.theme import COLOURS, SHARE, WIDTH, finished, share_axis

if TYPE_CHECKING:
    import polars as pl


def history(nights: pl.DataFrame) -> Any:
    """Return passed rates over time, a line a model; runs with gaps are hollow.

    Args:
        nights: rows of `model_summary` with the start of their run: model_id, run_id,
            started_at_ms, passed_rate, coverage (0 to 1), n_scored.
    """
    import polars as pl  # noqa: PLC0415 - loaded already

    known = nights.drop_nulls(["passed_rate", "started_at_ms"]).with_columns(
        at=pl.from_epoch("started_at_ms", time_unit="ms").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    )
    base = alt.Chart(known).encode(
        x=alt.X("at:T", scale=alt.Scale(type="utc"), title="start of the run, UTC"),
        y=alt.Y("passed_rate:Q", scale=SHARE, axis=share_axis("passed")),
        color=alt.Color("model_id:N", title="model", scale=alt.Scale(range=list(COLOURS))),
        tooltip=[
            alt.Tooltip("run_id:N", title="run"),
            alt.Tooltip("model_id:N", title="model"),
            alt.Tooltip("passed_rate:Q", title="passed", format=".1%"),
            alt.Tooltip("coverage:Q", title="coverage", format=".0%"),
            alt.Tooltip("n_scored:Q", title="verdicts"),
        ],
    )
    lines = base.mark_line(strokeWidth=2)
    points = base.mark_point(size=60, strokeWidth=2, opacity=1).encode(
        fill=alt.condition(
            "datum.coverage < 0.9",
            alt.value("white"),
            alt.Color("model_id:N", scale=alt.Scale(range=list(COLOURS)), legend=None),
        )
    )
    chart = (lines + points).properties(width=WIDTH, height=220)
    return finished(chart, "Passed, run by run", "hollow: less than 90 % of the verdicts are there")

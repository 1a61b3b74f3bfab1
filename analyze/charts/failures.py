"""Why trials ended without an answer, by model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from analyze.charts.theme import COLOURS, STEP, WIDTH, finished

if TYPE_CHECKING:
    import polars as pl


def failures(counts: pl.DataFrame) -> Any:
    """Return failed trials of each model by failure_type.

    Args:
        counts: rows of `failure_summary` of one run: model_id, failure_type, n_trials.
    """
    chart = (
        alt.Chart(counts)
        .mark_bar(height=16)
        .encode(
            x=alt.X("sum(n_trials):Q", title="trials", axis=alt.Axis(tickMinStep=1, format="d")),
            y=alt.Y("model_id:N", title=None),
            color=alt.Color(
                "failure_type:N", title="failure", scale=alt.Scale(range=list(COLOURS))
            ),
            order=alt.Order("failure_type:N"),
            tooltip=["model_id:N", "failure_type:N", "n_trials:Q"],
        )
        .properties(width=WIDTH, height=alt.Step(STEP))
    )
    return finished(chart, "Failures", "trials without a success, by failure_type")

"""How long answers take: not one number, but where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from analyze.charts.theme import COLOURS, WIDTH, finished

if TYPE_CHECKING:
    import polars as pl


def latency(bins: pl.DataFrame) -> Any:
    """Return how many successes lie in each bin of e2e_ms, a row a model, on a log scale.

    Args:
        bins: rows of `latency_histogram` of one run: model_id, bin_from_ms, bin_to_ms, n_trials.
    """
    import polars as pl  # noqa: PLC0415 - loaded already

    drawn = bins.with_columns(low=pl.max_horizontal("bin_from_ms", pl.lit(1)))
    chart = (
        alt.Chart(drawn)
        .mark_rect(color=COLOURS[0])
        .encode(
            x=alt.X("low:Q", scale=alt.Scale(type="log"), title="e2e_ms of successes, log scale"),
            x2="bin_to_ms:Q",
            y=alt.Y("zero:Q", title="trials", axis=alt.Axis(tickMinStep=1, tickCount=3)),
            y2="n_trials:Q",
            row=alt.Row(
                "model_id:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left")
            ),
            tooltip=["model_id:N", "bin_from_ms:Q", "bin_to_ms:Q", "n_trials:Q"],
        )
        .transform_calculate(zero="0")
        .properties(width=WIDTH, height=70)
    )
    return finished(chart, "Latency", "first request byte to last response byte, in ms")

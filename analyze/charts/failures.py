"""Why trials were not answered, by model and by whose fault it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from analyze.charts.axes import axis_width, chosen, height_of, rows_of
from analyze.charts.theme import COLOURS, PAPER, QUIET, finished, legend_below, listed, shown, tip
from schemas.errors import counted

if TYPE_CHECKING:
    import polars as pl

CAUSES = {
    "model": COLOURS[1],
    "provider": COLOURS[0],
    "infrastructure": COLOURS[4],
    "configuration": COLOURS[3],
    "harness": COLOURS[2],
    "unknown": QUIET,
}
"""Those that count against the model first."""

MOST_TICKS = 7


def failures(counts: pl.DataFrame) -> Any:
    """Return trials that were not answered of each model, most first, coloured by their cause.

    Args:
        counts: `frame(report, "failures")`: model_id, failure_type, cause, n_trials.
    """
    import polars as pl  # noqa: PLC0415 - loaded already

    rows = chosen(counts, "model_id", "failure_type", "cause", "n_trials").with_columns(
        pl.col("cause").fill_null("unknown")
    )
    rank = pl.col("cause").replace_strict(
        {cause: at for at, cause in enumerate(CAUSES)}, return_dtype=pl.Int64
    )
    rows = rows.sort([rank, "n_trials", "failure_type"], descending=[False, True, False])
    # stacked here: the library's own stacks fall over a model called `constructor`
    rows = rows.with_columns(end=pl.col("n_trials").cum_sum().over("model_id")).with_columns(
        begin=pl.col("end") - pl.col("n_trials")
    )
    totals = (
        rows.group_by("model_id")
        .agg(pl.sum("n_trials"))
        .sort(["n_trials", "model_id"], descending=[True, False])
    )
    models = totals["model_id"].to_list()
    seen = [cause for cause in CAUSES if cause in set(rows["cause"])]
    y = rows_of("model_id", models)
    few = list(range(max(totals["n_trials"]) + 1))  # of these the library marks halves too
    ticks = {"values": few} if len(few) <= MOST_TICKS else {"tickCount": MOST_TICKS - 1}
    axis = alt.Axis(format=",d", **ticks)
    words = tip({
        "model": "datum.model_id", "failure_type": "datum.failure_type", "cause": "datum.cause",
        "trials": shown("n_trials", ","),
    })  # fmt: skip
    bars = (
        alt.Chart(rows)
        .mark_bar(height=16, stroke=PAPER, strokeWidth=1, tooltip=words)
        .encode(
            x=alt.X("begin:Q", title="trials", axis=axis),
            x2=alt.X2("end"),
            y=y,
            color=alt.Color(
                "cause:N",
                scale=alt.Scale(domain=seen, range=[CAUSES[cause] for cause in seen]),
                legend=legend_below(seen, axis_width(models), "cause"),
            ),
        )
    )
    sums = (
        alt.Chart(totals)
        .mark_text(align="left", dx=5, aria=False)
        .encode(x=alt.X("n_trials:Q"), y=y, text=alt.Text("n_trials:Q", format=","))
    )
    return finished(
        bars + sums,
        "Failures",
        "trials that were not answered, by cause",
        f"Trials not answered of {counted(len(models), 'model')}, most first: "
        + listed([_said(model, rows.filter(rows["model_id"] == model)) for model in models])
        + ".",
        height_of(models),
    )


def _said(model: str, rows: pl.DataFrame) -> str:
    parts = [f"{n:,} {kind}" for kind, n in rows.select("failure_type", "n_trials").iter_rows()]
    return f"{model} {', '.join(parts[:3])}" + (" and others" if len(parts) > 3 else "")

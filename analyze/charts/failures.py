"""Charts of a run's trials: causes of failures, latency, and the matrix of cases and models.

A latency is drawn as where the times lie, not as one number; the matrix shows every repetition.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import altair as alt
import polars as pl

from analyze.charts import Chart, axes, theme
from analyze.query.frames import frame
from analyze.render.numbers import whole
from schemas.errors import counted
from schemas.output.summary import RunSummary

CAUSES = {
    "model": theme.COLOURS[1],
    "provider": theme.COLOURS[0],
    "infrastructure": theme.COLOURS[4],
    "configuration": theme.COLOURS[3],
    "harness": theme.COLOURS[2],
    "unknown": theme.QUIET,
}
"""Those that count against the model first."""

MAX_TICKS = 7

Metric = Literal["e2e_ms", "ttft_ms"]

TITLES: dict[Metric, tuple[str, str, str]] = {
    "e2e_ms": ("Latency", "first request byte to last response byte", "answer time"),
    "ttft_ms": ("Time to first token", "first request byte to first token", "time to first token"),
}
"""What the picture is called, what was measured, and what stands at the axis."""

STEP, THICKEST = 40, 32
"""Height of the row of a model, and of the fullest place in it, in px."""

NO_TIMEOUTS: Mapping[str, int] = MappingProxyType({})

TIMEOUTS_WIDTH = 72
"""From the end of the scale to the end of the number of time-outs, in px."""

EDGES = (10, 15, 20, 25, 30, 40, 50, 60, 80)
"""Of the places of one power of ten; each end of a bin is one of them or lies between two."""

CELL, WIDE = 22, 72
"""Height and width of a cell, in px."""

MAX_CASES = 120
"""That a picture has room for; the hardest are drawn."""


def failures(counts: pl.DataFrame) -> Any:
    """Return trials that were not answered of each model, most first, coloured by their cause.

    Args:
        counts: `frame(report, "failures")`: model_id, failure_type, cause, n_trials.
    """
    rows = axes.columns_of(counts, "model_id", "failure_type", "cause", "n_trials").with_columns(
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
    y = axes.rows_of("model_id", models)
    few = list(range(max(totals["n_trials"]) + 1))  # of these the library marks halves too
    ticks = {"values": few} if len(few) <= MAX_TICKS else {"tickCount": MAX_TICKS - 1}
    axis = theme.Part(format=",d", **ticks)
    words = theme.tip({
        "model": "datum.model_id", "failure_type": "datum.failure_type", "cause": "datum.cause",
        "trials": theme.d3_text("n_trials", ","),
    })  # fmt: skip
    bars = (
        alt.Chart(rows)
        .mark_bar(height=16, stroke=theme.PAPER, strokeWidth=1, tooltip=words)
        .encode(
            x=alt.X("begin:Q", title="trials", axis=axis),
            x2=alt.X2("end"),
            y=y,
            color=alt.Color(
                "cause:N",
                scale=theme.Part(domain=seen, range=[CAUSES[cause] for cause in seen]),
                legend=theme.legend_below(seen, axes.axis_width(models), "cause"),
            ),
        )
    )
    sums = (
        alt.Chart(totals)
        .mark_text(align="left", dx=5, aria=False)
        .encode(x=alt.X("n_trials:Q"), y=y, text=alt.Text("n_trials:Q", format=","))
    )
    return theme.finished(
        bars + sums,
        "Failures",
        "trials that were not answered, by cause",
        f"Trials not answered of {counted(len(models), 'model')}, most first: "
        + theme.listed(
            [_counts_text(model, rows.filter(rows["model_id"] == model)) for model in models]
        )
        + ".",
        axes.height_of(models),
    )


def _counts_text(model: str, rows: pl.DataFrame) -> str:
    parts = [f"{n:,} {kind}" for kind, n in rows.select("failure_type", "n_trials").iter_rows()]
    return f"{model} {', '.join(parts[:3])}" + (" and others" if len(parts) > 3 else "")


def latency(
    bins: pl.DataFrame, metric: Metric = "e2e_ms", timeouts: Mapping[str, int] = NO_TIMEOUTS
) -> Any:
    """Return where the times of answered trials lie on a log scale, a row a model.

    The area is the number of trials. Bins of one power of ten are as wide as each other in ms,
    which makes them ever narrower on a log scale: neighbours are drawn as one.

    Args:
        bins: `frame(report, "latency")`: model_id, metric, bin_from_ms, bin_to_ms, n_trials.
        metric: which of the times.
        timeouts: model_id to the time-outs that count against it: later than every time, beyond the
            limit, so that they have no place on the scale and are counted at its end.
    """
    title, subtitle, of = TITLES[metric]
    rows = _places(axes.columns_of(bins.filter(bins["metric"] == metric), "model_id", "bin_from_ms",
                          "bin_to_ms", "n_trials"))  # fmt: skip
    late = _late(timeouts)
    models = pl.concat([rows["model_id"], late["model_id"]]).unique(maintain_order=True).to_list()
    span = axes.log_range([*rows["low"], *rows["high"]], 1) or axes.LogRange(1, 10, from_zero=False)
    words = theme.tip({
        "model": "datum.model_id", "from ms": theme.d3_text("from", ","),
        "to ms": theme.d3_text("high", ","), "trials": theme.d3_text("n", ","),
    })  # fmt: skip
    chart = (
        alt.Chart(rows)
        .mark_bar(
            height=alt.ExprRef(f"max(2, {THICKEST} * datum.thick)"),
            color=theme.COLOURS[0],
            tooltip=words,
        )
        .encode(
            x=alt.X("low:Q", scale=span.scale, axis=span.axis(f"{of}, log scale", axes.MILLIS)),
            x2=alt.X2(field="high"),
            y=axes.rows_of("model_id", models),
        )
    )
    timed = rows["model_id"].unique(maintain_order=True).to_list()
    return theme.finished(
        chart if late.is_empty() else chart + _beyond(late, models),
        title,
        f"{subtitle}, of answered trials; thick where many lie, for each model by itself"
        + "; at the end: time-outs, beyond the time limit" * (not late.is_empty()),
        f"{title} of {counted(len(models), 'model')}, where most answered trials lie: "
        + theme.listed([_latency_words(rows.filter(rows["model_id"] == model)) for model in timed])
        + "; beyond the time limit: " * (not late.is_empty())
        + theme.listed(
            [f"{name} {whole(n)}" for name, n in late.select("model_id", "n").iter_rows()]
        )
        + ".",
        axes.height_of(models, STEP),
    )


def timeouts_of(summary: RunSummary, metric: Metric) -> dict[str, int]:
    """Return how many time-outs of each model count, beside the times of a metric."""
    return {
        group.model_id: (group.latency_ms if metric == "e2e_ms" else group.ttft_ms).n_timeouts
        for group in summary.models
    }


def _late(timeouts: Mapping[str, int]) -> pl.DataFrame:
    """Return a row for each model with time-outs: model_id, n, label."""
    known = {model_id: n for model_id, n in timeouts.items() if n}
    frame = pl.DataFrame(
        {"model_id": list(known), "n": list(known.values())},
        schema={"model_id": pl.String, "n": pl.Int64},
    )
    return theme.with_texts(
        axes.columns_of(frame, "model_id", "n"),
        label=(f"{whole(n)} timed out" for n in known.values()),
    )


def _beyond(late: pl.DataFrame, models: list[str]) -> Any:
    """Return the number of time-outs at the end of each row."""
    words = theme.tip({"model": "datum.model_id", "beyond the time limit": theme.d3_text("n", ",")})
    return (
        alt.Chart(late)
        .mark_text(align="right", tooltip=words, color=theme.WORSE)
        .encode(
            x=theme.constant(alt.XValue, alt.ExprRef(f"width + {TIMEOUTS_WIDTH}")),
            y=axes.rows_of("model_id", models),
            text=alt.Text("label:N"),
        )
    )


def _places(bins: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each model and place on the log scale: from, low, high, n, thick."""
    start = pl.col("bin_from_ms").cast(pl.Float64)
    ten = pl.lit(10.0).pow(start.clip(1).log10().add(1e-9).floor().sub(1))
    digits = start / ten
    low = pl.coalesce(
        pl.when(digits >= edge).then(edge * ten) for edge in reversed(EDGES)
    ).fill_null(0.0)
    grouped = (
        bins.with_columns(place=pl.when(start < 10).then(start).otherwise(low))
        .group_by("model_id", "place", maintain_order=True)
        .agg(
            pl.min("bin_from_ms").alias("from"), pl.max("bin_to_ms").alias("high"),
            pl.sum("n_trials").alias("n"),
        )
        .with_columns(low=pl.max_horizontal("from", pl.lit(1)))
    )  # fmt: skip
    dense = pl.col("n") / (pl.col("high") / pl.col("low")).log10().clip(0.01)
    return grouped.with_columns(thick=dense / dense.max().over("model_id")).drop("place")


def _latency_words(rows: pl.DataFrame) -> str:
    fullest = rows.sort("thick", descending=True).row(0, named=True)
    total = rows["n"].sum()
    return (
        f"{fullest['model_id']} {fullest['from']:,} to {fullest['high']:,} ms "
        f"({fullest['n']:,} of {total:,})"
    )


def matrix(cells: pl.DataFrame, n_cases: int | None = None) -> Any:
    """Return a table of cases and models; hardest case first, and how many repetitions passed.

    Args:
        cells: `frame(report.matrix, "cells")`, or rows of the mart `cells` of one run: case_id,
            model_id, n_scored, n_passed, n_planned, passed_rate. Grey cells have no verdict.
        n_cases: of the run, where the frame has the hardest ones alone.
    """
    rows = axes.columns_of(
        cells, "case_id", "model_id", "n_passed", "n_scored", "n_planned", "passed_rate"
    )
    every = _hardest_first(rows)
    order = every[:MAX_CASES]
    subtitle = "passed of the repetitions with a verdict; hardest first"
    n_all = n_cases or len(every)
    if n_all > len(order):
        subtitle += f", {len(order)} of {n_all:,} cases"
        rows = rows.filter(rows["case_id"].is_in(order))
    words = theme.tip({
        "case": "datum.case_id", "model": "datum.model_id", "passed": "datum.n_passed",
        "with a verdict": "datum.n_scored", "planned": "datum.n_planned",
    })  # fmt: skip
    base = alt.Chart(rows).encode(
        x=alt.X("model_id:N", title=None, axis=theme.Part(orient="top", labelAngle=-30)),
        y=alt.Y("case_id:N", scale=theme.Part(domain=order), sort=None, title=None),
    )
    boxes = base.mark_rect(stroke=theme.PAPER, strokeWidth=2, tooltip=words).encode(
        color=alt.condition(
            "datum.n_scored > 0",
            alt.Color(
                "passed_rate:Q",
                scale=theme.Part(
                    domain=[0, 0.5, 1], range=[theme.WORSE, theme.role("middle"), theme.COLOURS[0]],
                    interpolate="rgb",
                ),
                legend=theme.Part(title="passed", format="%"),
            ),
            alt.value(theme.GRID),
        )
    )  # fmt: skip
    numbers = base.mark_text(
        fontSize=11, aria=False,
        text=alt.ExprRef("datum.n_scored > 0 ? datum.n_passed + '/' + datum.n_scored : '–'"),
        color=alt.ExprRef(
            "datum.n_scored > 0 && abs(datum.passed_rate - 0.5) > 0.35 ? paper : ink"
        ),
    )  # fmt: skip
    n_models = rows["model_id"].n_unique()
    passed, scored = (int(rows[name].sum()) for name in ("n_passed", "n_scored"))
    chart = theme.finished(
        boxes + numbers,
        "Cases and models",
        subtitle,
        f"{counted(len(order), 'case')} and {counted(n_models, 'model')}, hardest case first; "
        + (f"{theme.share(passed / scored)} of {counted(scored, 'trial')} passed." if scored else
           "no trial has a verdict."),
        CELL * len(order),
    )  # fmt: skip
    return chart.properties(width=WIDE * n_models)


def _hardest_first(cells: pl.DataFrame) -> list[str]:
    rates = cells.group_by("case_id").agg(pl.sum("n_passed", "n_scored"))
    ordered = rates.sort([pl.col("n_passed") / pl.col("n_scored"), "case_id"], nulls_last=True)
    return list(ordered["case_id"])


def _times(metric: Metric, nothing: str) -> Chart:
    return Chart(
        ("summary", "latency"),
        lambda report: frame(report, "latency").filter(pl.col("metric") == metric),
        lambda rows, report: latency(rows, metric, timeouts_of(report.summary, metric)),
        nothing,
        "ttft" if metric == "ttft_ms" else "latency",
    )


LATENCY = _times("e2e_ms", "no answered trial of it was timed")

TTFT = _times("ttft_ms", "no answered trial of it was streamed")

MATRIX = Chart(
    ("matrix",),
    lambda report: frame(report.matrix, "cells"),
    lambda rows, report: matrix(rows, report.matrix.n_cases),
    "it is empty",
)

FAILURES = Chart(
    ("failures",),
    lambda report: frame(report, "failures"),
    lambda rows, _: failures(rows),
    "no trial of it failed",
    "failures",
)

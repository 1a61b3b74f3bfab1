"""Where scores of judges vary: between cases, between trials of a case, and by the judge itself."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from analyze.charts import Chart, axes, theme
from analyze.query.frames import frame
from analyze.render.numbers import score
from schemas.errors import counted
from schemas.output.report import RunReport

PARTS = {
    "cases": ("case_sd", theme.COLOURS[0]),
    "trials of a case": ("agent_sd", theme.COLOURS[2]),
    "the judge itself": ("judge_sd", theme.COLOURS[1]),
}
"""What scores vary by, and the column that says how much."""

MAX_ROWS = 30
"""Judge runs and models that a picture has room for."""


def judges(splits: pl.DataFrame) -> Any:
    """Return the shares of the variance of scores, a bar a judge run and model, noisiest first.

    A share is of variances, since standard deviations do not add up; these stand in the tooltip.

    Args:
        splits: `frame(report.judged, "variance")`: evaluation_profile_id, judge_run_id, model_id,
            case_sd, agent_sd, judge_sd. A null part is not known, and drawn as none.
    """
    sds = [column for column, _ in PARTS.values()]
    known = axes.columns_of(
        splits, "evaluation_profile_id", "judge_run_id", "model_id", *sds
    ).with_columns(total=pl.sum_horizontal(pl.col(sd).fill_null(0.0).pow(2) for sd in sds))
    name = pl.col("judge_run_id") + " on " + pl.col("model_id")
    if known["evaluation_profile_id"].n_unique() > 1:
        name = pl.col("evaluation_profile_id") + "/" + name
    shown = (
        known.filter(pl.col("total") > 0)
        .with_columns(name=name, noise=pl.col("judge_sd").fill_null(0.0).pow(2) / pl.col("total"))
        .sort(["noise", "name"], descending=[True, False])
        .head(MAX_ROWS)
    )
    names, noise = shown["name"].to_list(), shown.select("name", "noise")
    seen = {part: look for part, look in PARTS.items() if shown[look[0]].count()}
    parts = [
        shown.select(
            "name",
            "total",
            part=pl.lit(part),
            sd=pl.col(sd),
            share=pl.col(sd).fill_null(0.0).pow(2) / pl.col("total"),
            at=pl.lit(at),
        )
        for at, (part, (sd, _)) in enumerate(seen.items())
    ]
    rows = pl.concat(parts).sort("at").with_columns(end=pl.col("share").cum_sum().over("name"))
    rows = theme.with_texts(
        rows.with_columns(begin=pl.col("end") - pl.col("share")).drop("at", "total"),
        sd_text=(score(sd) for sd in rows["sd"]),
        share_text=(theme.share(share) for share in rows["share"]),
    )
    words = theme.tip({
        "judge run and model": "datum.name", "scores vary by": "datum.part",
        "share of the variance": theme.d3_text("share_text"),
        "standard deviation, points": theme.d3_text("sd_text"),
    })  # fmt: skip
    bars = (
        alt.Chart(rows)
        .mark_bar(height=16, stroke=theme.PAPER, strokeWidth=1, tooltip=words)
        .encode(
            x=alt.X(
                "begin:Q",
                axis=theme.share_axis("share of the variance of scores"),
                scale=theme.SHARE,
            ),
            x2=alt.X2("end"),
            y=axes.rows_of("name", names),
            color=alt.Color(
                "part:N",
                scale=theme.Part(domain=list(seen), range=[colour for _, colour in seen.values()]),
                legend=theme.legend_below(seen, axes.axis_width(names), "scores vary by"),
            ),
        )
    )
    return theme.finished(
        bars,
        "Where scores vary",
        "of the variance of judges' scores; what the judge itself adds is noise",
        f"Variance of scores of {counted(len(names), 'judge and model', 'judges and models')}, "
        "noisiest first; by the judge itself "
        + theme.listed([f"{who} {theme.share(part)}" for who, part in noise.iter_rows()])
        + ".",
        axes.height_of(names),
    )


def _rows(report: RunReport) -> pl.DataFrame:
    if report.judged is None:
        return pl.DataFrame()
    splits = frame(report.judged, "variance")
    sds = [column for column, _ in PARTS.values()]
    return splits.filter(pl.any_horizontal(pl.col(sd) > 0 for sd in sds))


JUDGES = Chart(
    ("judged",),
    _rows,
    lambda rows, _: judges(rows),
    "no judge was asked twice about a trial",
    "judges",
)

"""Which model passes which case, with its repetitions visible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from analyze.charts.axes import chosen
from analyze.charts.theme import COLOURS, GRID, PAPER, WORSE, finished, role, share, tip
from schemas.errors import counted

if TYPE_CHECKING:
    import polars as pl

CELL, WIDE = 22, 72
"""Height and width of a cell, in px."""

MOST_CASES = 120
"""That a picture has room for; the hardest are drawn."""


def matrix(cells: pl.DataFrame, n_cases: int | None = None) -> Any:
    """Return a table of cases and models; hardest case first, and how many repetitions passed.

    Args:
        cells: `frame(report.matrix, "cells")`, or rows of the mart `cells` of one run: case_id,
            model_id, n_scored, n_passed, n_planned, passed_rate. Grey cells have no verdict.
        n_cases: of the run, where the frame has the hardest ones alone.
    """
    rows = chosen(cells, "case_id", "model_id", "n_passed", "n_scored", "n_planned", "passed_rate")
    every = _hardest_first(rows)
    order = every[:MOST_CASES]
    told = "passed of the repetitions with a verdict; hardest first"
    n_all = n_cases or len(every)
    if n_all > len(order):
        told += f", {len(order)} of {n_all:,} cases"
        rows = rows.filter(rows["case_id"].is_in(order))
    words = tip({
        "case": "datum.case_id", "model": "datum.model_id", "passed": "datum.n_passed",
        "with a verdict": "datum.n_scored", "planned": "datum.n_planned",
    })  # fmt: skip
    base = alt.Chart(rows).encode(
        x=alt.X("model_id:N", title=None, axis=alt.Axis(orient="top", labelAngle=-30)),
        y=alt.Y("case_id:N", scale=alt.Scale(domain=order), sort=None, title=None),
    )
    boxes = base.mark_rect(stroke=PAPER, strokeWidth=2, tooltip=words).encode(
        color=alt.condition(
            "datum.n_scored > 0",
            alt.Color(
                "passed_rate:Q",
                scale=alt.Scale(
                    domain=[0, 0.5, 1], range=[WORSE, role("middle"), COLOURS[0]],
                    interpolate="rgb",
                ),
                legend=alt.Legend(title="passed", format="%"),
            ),
            alt.value(GRID),
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
    chart = finished(
        boxes + numbers,
        "Cases and models",
        told,
        f"{counted(len(order), 'case')} and {counted(n_models, 'model')}, hardest case first; "
        + (f"{share(passed / scored)} of {counted(scored, 'trial')} passed." if scored else
           "no trial has a verdict."),
        CELL * len(order),
    )  # fmt: skip
    return chart.properties(width=WIDE * n_models)


def _hardest_first(cells: pl.DataFrame) -> list[str]:
    import polars as pl  # noqa: PLC0415 - loaded already

    rates = cells.group_by("case_id").agg(pl.sum("n_passed", "n_scored"))
    ordered = rates.sort([pl.col("n_passed") / pl.col("n_scored"), "case_id"], nulls_last=True)
    names: list[str] = ordered["case_id"].to_list()
    return names

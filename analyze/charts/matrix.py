"""Which model passes which case, with its repetitions visible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from analyze.charts.theme import GRID, INK, finished

if TYPE_CHECKING:
    import polars as pl

CELL = 22

MOST_CASES = 120
"""That a picture has room for; the hardest are drawn."""


def matrix(cells: pl.DataFrame) -> Any:
    """Return a table of cases and models; hardest case first, and how many repetitions passed.

    Args:
        cells: rows of the mart `cells` of one run: case_id, model_id, n_scored, n_passed,
            n_planned, passed_rate. Grey cells have no verdict.
    """
    every = _hardest_first(cells)
    order = every[:MOST_CASES]
    told = "passed of the repetitions with a verdict; hardest first"
    if len(every) > len(order):
        told += f", {len(order)} of {len(every):,} cases"
        cells = cells.filter(cells["case_id"].is_in(order))
    base = alt.Chart(cells).encode(
        x=alt.X("model_id:N", title=None, axis=alt.Axis(orient="top", labelAngle=-30)),
        y=alt.Y("case_id:N", sort=order, title=None),
        tooltip=["case_id:N", "model_id:N", "n_passed:Q", "n_scored:Q", "n_planned:Q"],
    )
    boxes = base.mark_rect(stroke="white", strokeWidth=2).encode(
        color=alt.condition(
            "datum.n_scored > 0",
            alt.Color(
                "passed_rate:Q",
                scale=alt.Scale(
                    domain=[0, 0.5, 1], range=["#D55E00", "#F5E6C8", "#0072B2"], interpolate="rgb"
                ),
                legend=alt.Legend(title="passed", format="%"),
            ),
            alt.value(GRID),
        )
    )
    counts = base.transform_calculate(
        told="datum.n_scored > 0 ? datum.n_passed + '/' + datum.n_scored : '–'",
        light="datum.passed_rate == 0 || datum.passed_rate == 1",
    ).mark_text(fontSize=11)
    numbers = counts.encode(
        text="told:N",
        color=alt.condition(
            "datum.light && datum.n_scored > 0", alt.value("white"), alt.value(INK)
        ),
    )
    chart = (boxes + numbers).properties(width=alt.Step(72), height=alt.Step(CELL))
    return finished(chart, "Cases and models", told)


def _hardest_first(cells: pl.DataFrame) -> list[str]:
    import polars as pl  # noqa: PLC0415 - loaded already

    rates = cells.group_by("case_id").agg(pl.sum("n_passed", "n_scored"))
    ordered = rates.sort([pl.col("n_passed") / pl.col("n_scored"), "case_id"], nulls_last=True)
    names: list[str] = ordered["case_id"].to_list()
    return names

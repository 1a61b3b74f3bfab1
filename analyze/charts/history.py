"""How each model did from run to run, and where its level shifted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from analyze.charts.axes import chosen
from analyze.charts.rates import has_other_means, with_estimate
from analyze.charts.shift_rules import shift_rules
from analyze.charts.theme import (
    COLOURS,
    IS_NARROW,
    PAPER,
    QUIET,
    SHARE,
    finished,
    legend_below,
    share_axis,
)
from analyze.charts.words import INTERVAL, listed, share, shown, tip, with_rates, with_texts
from schemas.base import APART
from schemas.errors import counted

if TYPE_CHECKING:
    import polars as pl

HEIGHT = 260

MOST_COLOURED, MOST_BANDS = len(COLOURS), 4
"""Models that have a colour of their own, and an interval that is drawn; the others are grey."""

ALMOST_ALL = 0.9
"""Coverage below which a point is hollow."""

MOST_SPOKEN = 60
"""Points that a screen reader is told one by one."""

DAY = 86_400_000

WORDS = tip({
    "model": "datum.model", "run": "datum.run", "passed": shown("rate_text"),
    INTERVAL: shown("limits_text"), "coverage": shown("coverage_text"),
    "verdicts": shown("n", ","),
})  # fmt: skip


def history(points: pl.DataFrame, shifts: pl.DataFrame | None = None) -> Any:
    """Return passed rates over time with their 95 % intervals, a line a model.

    Runs with gaps are hollow. Where the passed rate of a model shifted stands a rule that says so.

    Args:
        points: `frame(report, "history")`: run_id, started_at_ms, model_id, passed_rate, low, high,
            coverage (0 to 1), n_scored, is_this_run.
        shifts: `frame(regressions, "shifts")` of the suite; None draws none.
    """
    known = with_estimate(points, "estimate")
    rows = chosen(known, "model_id", "run_id", "started_at_ms", "passed_rate", "low", "high",
                  "estimate", "coverage", "n_scored", "is_this_run").rename(
                      {"model_id": "model", "run_id": "run", "started_at_ms": "at",
                       "passed_rate": "rate", "n_scored": "n", "is_this_run": "this"})  # fmt: skip
    rows = with_texts(
        with_rates(rows, "rate", ("low", "high", "estimate")),
        coverage_text=map(share, rows["coverage"]),
    )
    moved = None if shifts is None else shifts.filter(shifts["series_metric"] == "passed_rate")
    coloured = _coloured(rows, moved)
    is_bright = rows["model"].is_in(coloured)
    x = alt.X("at:T", scale=alt.Scale(type="utc"), axis=_axis(rows))
    layers = _grey(rows.filter(~is_bright), x) + _bright(rows.filter(is_bright), x, coloured)
    if moved is not None:
        layers += shift_rules(moved, rows)
    n_models, n_shifts = rows["model"].n_unique(), 0 if moved is None else len(moved)
    grey = n_models - len(coloured)
    last = rows.filter(rows["at"] == rows["at"].max()).sort("rate", descending=True)
    return finished(
        alt.layer(*layers),
        "Passed, run by run",
        "hollow: less than 90 % of the verdicts are there"
        + ("; bands are 95 % intervals" if len(coloured) <= MOST_BANDS else "")
        + "; ticks: the case means that these are of" * has_other_means(rows, "rate", "estimate")
        + (f"; grey: {counted(grey, 'other model')}" if grey else ""),
        f"Passed rate of {counted(n_models, 'model')} in {counted(rows['run'].n_unique(), 'run')}"
        + (f", with {counted(n_shifts, 'level shift')}" if n_shifts else "")
        + "; in the newest run: "
        + listed([f"{row['model']} {share(row['rate'])}" for row in last.iter_rows(named=True)])
        + ".",
        HEIGHT,
    )


def _coloured(rows: pl.DataFrame, shifts: pl.DataFrame | None) -> list[str]:
    """Return the models with a colour: all, or those that shifted and the best of the newest."""
    newest = rows.sort(["at", "rate"], descending=True)["model"].unique(maintain_order=True)
    models: list[str] = newest.to_list()
    if len(models) <= MOST_COLOURED:
        return sorted(models)
    shifted = set() if shifts is None else set(shifts["series_model_id"])
    models.sort(key=lambda model: model not in shifted)  # stable: the best first
    return sorted(models[: MOST_COLOURED - 1])


def _grey(rows: pl.DataFrame, x: alt.X) -> list[Any]:
    if rows.is_empty():
        return []
    base = _chart(rows).encode(
        x=x,
        y=alt.Y("rate:Q", scale=SHARE, axis=share_axis("passed")),
        detail=alt.Detail("model:N"),
    )
    look: dict[str, Any] = {"color": QUIET, "opacity": 0.35, "aria": False}
    return [
        base.mark_line(strokeWidth=1, **look),
        base.mark_point(filled=True, size=14, tooltip=WORDS, **look),
    ]


def _bright(rows: pl.DataFrame, x: alt.X, coloured: list[str]) -> list[Any]:
    scale = alt.Scale(domain=coloured, range=list(COLOURS[: len(coloured)]))
    legend = legend_below(coloured, "60", symbolType="circle", symbolSize=60)
    colour = alt.Color("model:N", scale=scale, legend=legend)
    y = alt.Y("rate:Q", scale=SHARE, axis=share_axis("passed"))
    base = _chart(rows).encode(x=x, color=colour)
    band = base.mark_area(opacity=0.14, aria=False).encode(
        y=alt.Y("low:Q", scale=SHARE), y2=alt.Y2(field="high")
    )
    line = base.mark_line(strokeWidth=2, aria=False).encode(y=y)
    n_runs = rows["run"].n_unique()
    size = 60 if n_runs <= 20 else 26 if n_runs <= 60 else 12
    look: dict[str, Any] = {
        "size": alt.ExprRef(f"datum.this ? {size + 40} : {size}"), "opacity": 1, "tooltip": WORDS,
    }  # fmt: skip
    points = base.mark_point(filled=True, aria=len(rows) <= MOST_SPOKEN, **look).encode(y=y)
    hollow = base.transform_filter(
        f"isValid(datum.coverage) && datum.coverage < {ALMOST_ALL}"
    ).mark_point(fill=PAPER, strokeWidth=1.5, aria=False, **look)
    bands = [band] if len(coloured) <= MOST_BANDS else []
    has_gaps = (rows["coverage"] < ALMOST_ALL).any()  # a layer of nothing has no extent
    means = [_means(base)] if has_other_means(rows, "rate", "estimate") else []
    return [*bands, line, *means, points, *([hollow.encode(y=y)] if has_gaps else [])]


def _means(base: alt.Chart) -> Any:
    """Return a tick at each mean over cases that an interval is of, where it is not the rate."""
    ticks = base.transform_filter(
        f"isValid(datum.estimate) && abs(datum.estimate - datum.rate) > {APART}"
    ).mark_tick(orient="horizontal", thickness=2, size=10, aria=False)
    return ticks.encode(y=alt.Y("estimate:Q", scale=SHARE))


def _chart(rows: pl.DataFrame) -> alt.Chart:
    """Return a chart of rows that are handed over run by run, which takes half the bytes."""
    values: list[Any] = [
        "model", "rate", "low", "high", "coverage", "n", "this", "rate_text", "limits_text",
        "coverage_text", *(["estimate"] if has_other_means(rows, "rate", "estimate") else []),
    ]  # fmt: skip
    runs = rows.group_by("run", "at", maintain_order=True).agg(values)
    return alt.Chart(runs).transform_flatten(values)


def _axis(rows: pl.DataFrame) -> alt.Axis:
    """Return an axis of time whose labels say as much as its span needs."""
    ends: list[int] = [min(rows["at"]), max(rows["at"])]
    span = ends[1] - ends[0]
    form = (
        "%Y-%m" if span > 500 * DAY
        else "%d %b" if span > 4 * DAY
        else "%d %b %H:%M" if span > DAY / 2
        else "%H:%M" if span > DAY / 48
        else "%H:%M:%S"
    )  # fmt: skip
    count = alt.ExprRef(f"{IS_NARROW} ? 3 : 6")
    return alt.Axis(
        title="start of the run, UTC", format=form, tickCount=count, labelOverlap="greedy"
    )

"""How each model did from run to run, with a rule where its passed rate went to another level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from analyze.charts import Chart, theme
from analyze.charts.axes import LABEL_CHARACTER, columns_of, shortened
from analyze.charts.leaderboard import has_other_means, with_estimate
from analyze.query.frames import frame
from analyze.render.numbers import signed_points
from analyze.render.text import line_of
from schemas.base import APART
from schemas.errors import counted
from schemas.output.report import RunReport

PLOT_WIDTH = 230.0
"""Of a narrow screen, in px: labels that find their place there find it everywhere."""

MAX_LINES, LINE = 4, 15
"""Lines of labels above the picture, and their height in px; newer shifts find a place first."""

MAX_LABEL_CHARS = 14
"""Of the name of a model in a label."""

HEIGHT = 260

MAX_COLOURED, MAX_BANDS = len(theme.COLOURS), 4
"""Models that have a colour of their own, and an interval that is drawn; the others are grey."""

MIN_FULL_COVERAGE = 0.9
"""Coverage below which a point is hollow."""

MAX_SPOKEN_POINTS = 60
"""Points that a screen reader is told one by one."""

DAY = 86_400_000

WORDS = theme.tip({
    "model": "datum.model", "run": "datum.run", "passed": theme.d3_text("rate_text"),
    theme.INTERVAL: theme.d3_text("limits_text"), "coverage": theme.d3_text("coverage_text"),
    "verdicts": theme.d3_text("n", ","),
})  # fmt: skip


def shift_rules(shifts: pl.DataFrame, points: pl.DataFrame) -> list[Any]:
    """Return layers with a rule for each run that began a new level, and what shifted.

    Args:
        shifts: of the passed rate; series_model_id, is_worse, first_run, before, after.
        points: run and at, as the history draws them.
    """
    rows = _rows(shifts, points)
    if not rows:
        return []
    words = theme.tip({"new level since": "datum.run", "of": "datum.all"})
    base = alt.Chart(alt.InlineData(rows)).encode(
        x=alt.X("at:T", scale=theme.Part(type="utc")),
        color=theme.where(alt.ColorValue, "datum.worse", theme.WORSE, theme.BETTER),
    )
    rule = base.mark_rule(strokeWidth=1.5, strokeDash=[5, 3], tooltip=words)
    label = base.transform_filter("datum.line >= 0").mark_text(
        text=alt.ExprRef("datum.label"), align=alt.ExprRef("datum.side"), fontSize=11,
        y=alt.ExprRef(f"-7 - {LINE} * datum.line"), tooltip=words, aria=False,
    )  # fmt: skip
    return [rule, label]


def _rows(shifts: pl.DataFrame, points: pl.DataFrame) -> list[dict[str, Any]]:
    """Return one row for each run, the newest first."""
    starts: dict[str, int] = dict(points.select("run", "at").iter_rows())
    by_run: dict[str, list[dict[str, Any]]] = {}
    for shift in shifts.iter_rows(named=True):
        by_run.setdefault(line_of(shift["first_run"]), []).append(shift)
    known = sorted((run for run in by_run if run in starts), key=starts.__getitem__, reverse=True)
    first, last = min(starts.values()), max(starts.values())
    span = max(1, last - first)
    taken: list[list[tuple[float, float]]] = [[] for _ in range(MAX_LINES)]
    rows = []
    for run in known:
        at = PLOT_WIDTH * (starts[run] - first) / span
        label, side, line = _placed(_labels(by_run[run]), at, taken)
        rows.append(
            {
                "at": starts[run], "run": run, "line": line, "side": side, "label": label,
                "all": "; ".join(_shift_text(shift) for shift in by_run[run][:4]),
                "worse": any(shift["is_worse"] for shift in by_run[run]),
            }
        )  # fmt: skip
    return rows


def _placed(
    labels: Sequence[str], at: float, taken: list[list[tuple[float, float]]]
) -> tuple[str, str, int]:
    """Return a label, the side of it that is at its rule, and its line; line -1: it has no room.

    Args:
        labels: the same in ever fewer words.
        at: place of the rule, in px.
        taken: from where to where each line is full, in px; gets what is placed.
    """
    for label in labels:
        length = LABEL_CHARACTER * (len(label) + 1)
        sides = {"left": (at, at + length), "right": (at - length, at)}
        for line, full in enumerate(taken):
            for side, (left, right) in sides.items():
                if left < -LABEL_CHARACTER * 3 or right > PLOT_WIDTH + LABEL_CHARACTER:
                    continue
                if all(right <= start or end <= left for start, end in full):
                    full.append((left, right))
                    return label, side, line
    return labels[0], "left", -1


def _labels(shifts: list[dict[str, Any]]) -> tuple[str, ...]:
    marks = "".join(
        mark for mark, worse in (("▼", True), ("▲", False))
        if any(shift["is_worse"] is worse for shift in shifts)
    )  # fmt: skip
    if len(shifts) > 1:
        return (f"{marks} {len(shifts)} models", f"{marks} {len(shifts)}")
    name = shortened(line_of(shifts[0]["series_model_id"]), MAX_LABEL_CHARS)
    size = signed_points(shifts[0]["after"] - shifts[0]["before"])
    return (f"{marks} {name} {size}", f"{marks} {size}")


def _shift_text(shift: dict[str, Any]) -> str:
    name = line_of(shift["series_model_id"])
    return f"{name} from {theme.share(shift['before'])} to {theme.share(shift['after'])}"


def history(points: pl.DataFrame, shifts: pl.DataFrame | None = None) -> Any:
    """Return passed rates over time with their 95 % intervals, a line a model.

    Runs with gaps are hollow. Where the passed rate of a model shifted stands a rule that says so.

    Args:
        points: `frame(report, "history")`: run_id, started_at_ms, model_id, passed_rate, low, high,
            coverage (0 to 1), n_scored, is_this_run, is_part.
        shifts: `frame(regressions, "shifts")` of the suite; None draws none.
    """
    known = with_estimate(points, "estimate")
    rows = columns_of(known, "model_id", "run_id", "started_at_ms", "passed_rate", "low", "high",
                  "estimate", "coverage", "n_scored", "is_this_run", "is_part").rename(
                      {"model_id": "model", "run_id": "run", "started_at_ms": "at",
                       "passed_rate": "rate", "n_scored": "n", "is_this_run": "this",
                       "is_part": "part"})  # fmt: skip
    rows = theme.with_texts(
        theme.with_rates(rows, "rate", ("low", "high", "estimate")),
        coverage_text=map(theme.share, rows["coverage"]),
    )
    moved = None if shifts is None else shifts.filter(shifts["series_metric"] == "passed_rate")
    coloured = _coloured(rows, moved)
    is_bright = rows["model"].is_in(coloured)
    x = alt.X("at:T", scale=theme.Part(type="utc"), axis=_axis(rows))
    layers = _grey(rows.filter(~is_bright), x) + _bright(rows.filter(is_bright), x, coloured)
    if moved is not None:
        layers += shift_rules(moved, rows)
    n_models, n_shifts = rows["model"].n_unique(), 0 if moved is None else len(moved)
    grey = n_models - len(coloured)
    last = rows.filter(rows["at"] == rows["at"].max()).sort("rate", descending=True)
    return theme.finished(
        alt.layer(*layers),
        "Passed, run by run",
        "hollow: less than 90 % of the verdicts are there"
        + ("; bands are 95 % intervals" if len(coloured) <= MAX_BANDS else "")
        + "; ticks: the case means that these are of" * has_other_means(rows, "rate", "estimate")
        + (f"; grey: {counted(grey, 'other model')}" if grey else ""),
        f"Passed rate of {counted(n_models, 'model')} in {counted(rows['run'].n_unique(), 'run')}"
        + (f", with {counted(n_shifts, 'level shift')}" if n_shifts else "")
        + "; in the newest run: "
        + theme.listed(
            [f"{row['model']} {theme.share(row['rate'])}" for row in last.iter_rows(named=True)]
        )
        + ".",
        HEIGHT,
    )


def _coloured(rows: pl.DataFrame, shifts: pl.DataFrame | None) -> list[str]:
    """Return the models with a colour: all, or those that shifted and the best of the newest."""
    newest = rows.sort(["at", "rate"], descending=True)["model"].unique(maintain_order=True)
    models: list[str] = newest.to_list()
    if len(models) <= MAX_COLOURED:
        return sorted(models)
    shifted = set() if shifts is None else set(shifts["series_model_id"])
    models.sort(key=lambda model: model not in shifted)  # stable: the best first
    return sorted(models[: MAX_COLOURED - 1])


def _grey(rows: pl.DataFrame, x: alt.X) -> list[Any]:
    if rows.is_empty():
        return []
    base = _chart(rows).encode(
        x=x,
        y=alt.Y("rate:Q", scale=theme.SHARE, axis=theme.share_axis("passed")),
        detail=alt.Detail("model:N"),
    )
    look: dict[str, Any] = {"color": theme.QUIET, "opacity": 0.35, "aria": False}
    return [
        _of_whole_runs(base, rows).mark_line(strokeWidth=1, **look),
        base.mark_point(filled=True, size=14, tooltip=WORDS, **look),
    ]


def _bright(rows: pl.DataFrame, x: alt.X, coloured: list[str]) -> list[Any]:
    scale = theme.Part(domain=coloured, range=list(theme.COLOURS[: len(coloured)]))
    legend = theme.legend_below(coloured, "60", symbolType="circle", symbolSize=60)
    colour = alt.Color("model:N", scale=scale, legend=legend)
    y = alt.Y("rate:Q", scale=theme.SHARE, axis=theme.share_axis("passed"))
    base = _chart(rows).encode(x=x, color=colour)
    band = (
        _of_whole_runs(base, rows)
        .mark_area(opacity=0.14, aria=False)
        .encode(y=alt.Y("low:Q", scale=theme.SHARE), y2=alt.Y2(field="high"))
    )
    line = _of_whole_runs(base, rows).mark_line(strokeWidth=2, aria=False).encode(y=y)
    n_runs = rows["run"].n_unique()
    size = 60 if n_runs <= 20 else 26 if n_runs <= 60 else 12
    look: dict[str, Any] = {
        "size": alt.ExprRef(f"datum.this ? {size + 40} : {size}"), "opacity": 1, "tooltip": WORDS,
    }  # fmt: skip
    points = base.mark_point(filled=True, aria=len(rows) <= MAX_SPOKEN_POINTS, **look).encode(y=y)
    hollow = base.transform_filter(
        f"isValid(datum.coverage) && datum.coverage < {MIN_FULL_COVERAGE}"
    ).mark_point(fill=theme.PAPER, strokeWidth=1.5, aria=False, **look)
    bands = [band] if len(coloured) <= MAX_BANDS else []
    has_gaps = (rows["coverage"] < MIN_FULL_COVERAGE).any()  # a layer of nothing has no extent
    means = [_means(base)] if has_other_means(rows, "rate", "estimate") else []
    return [*bands, line, *means, points, *([hollow.encode(y=y)] if has_gaps else [])]


def _of_whole_runs(base: alt.Chart, rows: pl.DataFrame) -> alt.Chart:
    """Return what a line may join: a run of a part of the suite is no level beside whole ones."""
    return base.transform_filter("!datum.part") if rows["part"].any() else base


def _means(base: alt.Chart) -> Any:
    """Return a tick at each mean over cases that an interval is of, where it is not the rate."""
    ticks = base.transform_filter(
        f"isValid(datum.estimate) && abs(datum.estimate - datum.rate) > {APART}"
    ).mark_tick(orient="horizontal", thickness=2, size=10, aria=False)
    return ticks.encode(y=alt.Y("estimate:Q", scale=theme.SHARE))


def _chart(rows: pl.DataFrame) -> alt.Chart:
    """Return a chart of rows that are handed over run by run, which takes half the bytes."""
    values: list[Any] = [
        "model", "rate", "low", "high", "coverage", "n", "this", "rate_text", "limits_text",
        "coverage_text", *(["estimate"] if has_other_means(rows, "rate", "estimate") else []),
        *(["part"] if rows["part"].any() else []),
    ]  # fmt: skip
    runs = rows.group_by("run", "at", maintain_order=True).agg(values)
    return alt.Chart(runs).transform_flatten(values)


def _axis(rows: pl.DataFrame) -> theme.Part:
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
    count = alt.ExprRef(f"{theme.IS_NARROW} ? 3 : 6")
    return theme.Part(
        title="start of the run, UTC", format=form, tickCount=count, labelOverlap="greedy"
    )


def _with_shifts(points: pl.DataFrame, report: RunReport) -> Any:
    return history(points, None if report.shifts is None else frame(report.shifts, "shifts"))


HISTORY = Chart(
    ("history", "shifts"),
    lambda report: frame(report, "history"),
    _with_shifts,
    "fewer than two runs of its suite have a verdict",
    "history",
)

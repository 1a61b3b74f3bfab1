"""What changed against a base, model by model."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from analyze.charts import Chart, theme
from analyze.charts.axes import axis_width, columns_of, height_of, rows_of
from analyze.query.frames import frame
from analyze.render.numbers import signed_points
from schemas.errors import counted
from schemas.output.report import RunReport

VERDICTS = {
    "improved": (theme.BETTER, "triangle-up"),
    "regressed": (theme.WORSE, "triangle-down"),
    "unchanged": (theme.SAME, "circle"),
    "inconclusive": (theme.SAME, "diamond"),
}
"""Colour and shape, so that neither is needed to tell them apart."""

MIN_REACH = 0.1
"""Of the axis to both sides: a change of one point must not look like a landslide."""


def comparable(groups: pl.DataFrame) -> pl.DataFrame:
    """Return the models with a difference that may be shown: an outage is no worse model."""
    known = groups.drop_nulls("difference_difference")
    return known.filter(known["verdict"] != "not_comparable")


def comparison(groups: pl.DataFrame) -> Any:
    """Return paired differences of the passed rate with their 95 % intervals.

    Args:
        groups: `frame(comparison, "groups")`: candidate_model_id, verdict, difference_difference,
            difference_low, difference_high, difference_n_cases.
    """
    rows = columns_of(comparable(groups), "candidate_model_id", "verdict", "difference_difference",
                  "difference_low", "difference_high", "difference_n_cases").rename(
                      lambda name: name.removeprefix("difference_"))  # fmt: skip
    models = rows["candidate_model_id"].unique(maintain_order=True).to_list()
    worded = theme.with_texts(
        rows,
        difference_text=map(signed_points, rows["difference"]),
        limits_text=map(_limits_text, rows.iter_rows(named=True)),
    )
    base = alt.Chart(worded).encode(y=rows_of("candidate_model_id", models))
    reach, marked = _reach(rows), _marked(rows)
    scale = theme.Part(domain=[-reach, reach])
    axis = theme.Part(title="change in points of 100", values=_ticks(reach),
                    labelExpr="datum.value ? format(100 * datum.value, '+.3~f') : '0'")  # fmt: skip
    interval = base.mark_rule(strokeWidth=4, opacity=0.45, aria=False).encode(
        x=alt.X("low:Q", scale=scale, axis=axis), x2=alt.X2(field="high"), color=marked["color"]
    )
    words = theme.tip({
        "model": "datum.candidate_model_id", "verdict": "datum.verdict",
        "change in points": theme.d3_text("difference_text"),
        theme.INTERVAL: theme.d3_text("limits_text"),
        "cases": theme.d3_text("n_cases", ","),
    })  # fmt: skip
    point = base.mark_point(filled=True, size=110, opacity=1, tooltip=words).encode(
        x=alt.X("difference:Q", scale=scale, axis=axis), **marked
    )
    zero = (
        alt.Chart(alt.InlineData([{}]))
        .mark_rule(color=theme.QUIET, strokeDash=[3, 3], aria=False)
        .encode(x=alt.X(datum=0, type="quantitative", scale=scale))
    )
    return theme.finished(
        alt.layer(zero, interval, point),
        "Against the base",
        "paired by case, with 95 % intervals; models that cannot be compared are left out",
        f"Change of the passed rate of {counted(len(rows), 'model')} against the base, in points "
        "of 100 with 95 % intervals: "
        + theme.listed([_verdict_text(row) for row in rows.iter_rows(named=True)])
        + ".",
        height_of(models, theme.STEP + 4),
    )


def _marked(rows: pl.DataFrame) -> dict[str, Any]:
    """Return colour and shape of each verdict that is there, with one legend for both."""
    there = set(rows["verdict"])
    seen = [verdict for verdict in VERDICTS if verdict in there]
    legend = theme.legend_below(seen, axis_width(rows["candidate_model_id"].to_list()))
    colours, shapes = (
        theme.Part(domain=seen, range=[VERDICTS[verdict][part] for verdict in seen])
        for part in (0, 1)
    )
    return {
        "color": alt.Color("verdict:N", legend=legend, scale=colours),
        "shape": alt.Shape("verdict:N", legend=legend, scale=shapes),
    }


def _reach(rows: pl.DataFrame) -> float:
    ends: list[float] = [
        abs(end) for name in ("low", "difference", "high") for end in rows[name].drop_nulls()
    ]
    return min(1.0, round(max([MIN_REACH, *(1.05 * end for end in ends)]), 3))


def _ticks(reach: float) -> list[float]:
    """Return zero and two round numbers on both sides of it."""
    step = next(step for step in (0.5, 0.25, 0.2, 0.1, 0.05) if 2 * step <= reach)
    return [number * step for number in range(-2, 3)]


def _limits_text(row: dict[str, Any]) -> str:
    return f"{signed_points(row['low'])} to {signed_points(row['high'])}"


def _verdict_text(row: dict[str, Any]) -> str:
    change = f"{signed_points(row['difference'])} ({_limits_text(row)})"
    return f"{row['candidate_model_id']} {change}, {row['verdict'].replace('_', ' ')}"


def _rows(report: RunReport) -> pl.DataFrame:
    found = report.comparison
    return pl.DataFrame() if found is None else comparable(frame(found, "groups"))


COMPARISON = Chart(
    ("comparison",),
    _rows,
    lambda rows, _: comparison(rows),
    "no model can be compared with the baseline; `analyze compare` says why",
    "comparison",
)

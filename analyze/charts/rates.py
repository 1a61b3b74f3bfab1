"""Rows of models with a rate each: the point, its interval, and the number beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from analyze.charts.names import rows_of
from analyze.charts.theme import COLOURS, SHARE, share_axis
from analyze.charts.words import INTERVAL, between, shown, tip
from schemas.interval import is_apart

if TYPE_CHECKING:
    import polars as pl

BESIDE = 46
"""From the end of the scale to the end of the number, in px."""


def rated(rows: pl.DataFrame, rate: str, interval: str, title: str, n: str) -> Any:
    """Return a point, the line of its interval and its number for each row, in the rows' order.

    Args:
        rows: model_id, and the columns that are named here.
        rate: name of a column.
        interval: what the columns of its limits begin with; they end in `_low`, `_high`, and
            `_estimate`, the mean over cases that it is of, which gets a tick where it is another.
        title: of the axis.
        n: name of the column of how many trials stand behind it.
    """
    low, high = f"{interval}_low", f"{interval}_high"
    base = alt.Chart(rows).encode(y=rows_of("model_id", rows["model_id"].to_list()))
    x = alt.X(f"{rate}:Q", scale=SHARE, axis=share_axis(title))
    line = base.mark_rule(strokeWidth=4, color=COLOURS[0], opacity=0.4, aria=False).encode(
        x=alt.X(f"{low}:Q", scale=SHARE, axis=share_axis(title)), x2=alt.X2(field=high)
    )
    words = tip({
        "model": "datum.model_id", title: shown(rate, ".1%"), INTERVAL: between(low, high, ".1%"),
        "trials": shown(n, ","),
    })  # fmt: skip
    point = base.mark_point(
        filled=True, size=90, color=COLOURS[0], opacity=1, tooltip=words
    ).encode(x=x)
    number = base.mark_text(align="right", aria=False).encode(
        x=alt.value(alt.ExprRef(f"width + {BESIDE}")), text=alt.Text(f"{rate}:Q", format=".0%")
    )
    if not has_other_means(rows, rate, interval):
        return line + point + number
    mean = base.mark_tick(thickness=2, size=14, color=COLOURS[0], aria=False).encode(
        x=alt.X(f"{interval}_estimate:Q", scale=SHARE, axis=share_axis(title))
    )
    return line + mean + point + number


def with_estimate(models: pl.DataFrame, interval: str) -> pl.DataFrame:
    """Return a frame with the column `_estimate` of an interval: nulls in one of before."""
    import polars as pl  # noqa: PLC0415 - loaded already

    name = f"{interval}_estimate"
    return models if name in models.columns else models.with_columns(pl.lit(None).alias(name))


def has_other_means(rows: pl.DataFrame, rate: str, interval: str) -> bool:
    """Return whether some interval is of another mean than the rate it is drawn beside."""
    pairs = rows.select(rate, f"{interval}_estimate").iter_rows()
    return any(is_apart(rate, estimate) for rate, estimate in pairs)


def ticks_said(rows: pl.DataFrame, rate: str, interval: str) -> str:
    """Return what the ticks of a chart are; nothing where it has none."""
    return ", ticks their case means" * has_other_means(rows, rate, interval)

"""Words of charts: what stands in a tooltip, and what is said to those who cannot see them.

Numbers are rounded by `analyze.render.numbers` and drawn as texts: a chart says what its table
says.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import altair as alt

from analyze.render.numbers import limits_of, percent

if TYPE_CHECKING:
    import polars as pl

INTERVAL = "95 % interval"

MOST_NAMED = 6
"""Models that a description tells of, before it counts the others."""


def tip(rows: Mapping[str, str]) -> alt.ExprRef:
    """Return a tooltip.

    Args:
        rows: title to an expression of the value beside it.
    """
    cells = [f"{json.dumps(title)}: {value}" for title, value in rows.items()]
    return alt.ExprRef("{" + ", ".join(cells) + "}")


def shown(column: str, form: str = "") -> str:
    """Return an expression of a column's value in a d3 format, `unknown` where there is none."""
    field = f"datum[{json.dumps(column)}]"
    value = f"format({field}, {json.dumps(form)})" if form else field
    return f"isValid({field}) ? {value} : 'unknown'"


class Limits(NamedTuple):
    """An interval of a rate, as rows of a chart have it."""

    low: float | None
    high: float | None
    estimate: float | None


def with_texts(rows: pl.DataFrame, **texts: Iterable[str]) -> pl.DataFrame:
    """Return rows with further columns of texts, null where a text is empty."""
    import polars as pl  # noqa: PLC0415 - loaded already

    return rows.with_columns(
        pl.Series(name, [text or None for text in column], dtype=pl.String)
        for name, column in texts.items()
    )


def with_rates(
    rows: pl.DataFrame, rate: str, limits: Sequence[str], *beside: float
) -> pl.DataFrame:
    """Return rows with `rate_text` and `limits_text`, as tables have them.

    Args:
        rows: a rate each.
        rate: name of its column.
        limits: names of the columns of its interval: low, high, and the mean that it is of.
        beside: bounds that the rates are held against.
    """
    values = [(row[0], Limits(*row[1:])) for row in rows.select(rate, *limits).iter_rows()]
    return with_texts(
        rows,
        rate_text=(share(one, *beside) for one, _ in values),
        limits_text=(limits_of(one, found, *beside) for one, found in values),
    )


def listed(parts: Sequence[str], most: int = MOST_NAMED) -> str:
    """Return parts of a sentence; the last ones are only counted when there are too many."""
    more = len(parts) - most
    return "; ".join(parts[:most]) + (f"; and {more} more" if more > 0 else "")


def share(rate: float | None, *beside: float) -> str:
    """Return a rate in percent, as it is said: `87.5 %`; empty for none."""
    return "" if rate is None else f"{percent(rate, *beside)} %"

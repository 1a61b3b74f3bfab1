"""Words of charts: what stands in a tooltip, and what is said to those who cannot see them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import altair as alt

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


def between(low: str, high: str, form: str) -> str:
    """Return an expression of the limits of an interval."""
    limits = [f"format(datum[{json.dumps(name)}], {json.dumps(form)})" for name in (low, high)]
    known = f"isValid(datum[{json.dumps(low)}])"
    return f"{known} ? {limits[0]} + ' to ' + {limits[1]} : 'unknown'"


def listed(parts: Sequence[str], most: int = MOST_NAMED) -> str:
    """Return parts of a sentence; the last ones are only counted when there are too many."""
    more = len(parts) - most
    return "; ".join(parts[:most]) + (f"; and {more} more" if more > 0 else "")


def share(rate: float) -> str:
    """Return a rate in percent, as it is said: `88 %`."""
    return f"{100 * rate:.0f} %"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 model`, `2 models`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")

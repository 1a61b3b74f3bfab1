"""Formatting of numbers, the only place that rounds.

* a rate becomes a percentage with one decimal, without its sign: the column's title has it
* milliseconds become whole numbers
* null becomes an empty text, and the missing side of a pair a dash
"""

from __future__ import annotations

DASH = "–"


def percent(rate: float | None) -> str:
    """Return a rate between 0 and 1 as a percentage: 0.875 is `87.5`."""
    return "" if rate is None else f"{100 * rate:.1f}"


def millis(value: float | None) -> str:
    """Return milliseconds without decimals."""
    return "" if value is None else f"{value:.0f}"


def pair(before: str | None, after: str | None) -> str:
    """Return `before→after`; nothing at all when both are missing."""
    if not before and not after:
        return ""
    return f"{before or DASH}→{after or DASH}"

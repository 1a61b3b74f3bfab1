"""Formatting of numbers in the reports, tables and sentences of `analyze`: one rule of rounding.

* a rate becomes a percentage with one decimal, without its sign: the column's title has it
* a difference of rates becomes points of 100 with one decimal, a p or q value three decimals
* milliseconds become whole numbers; a duration that people wait for becomes minutes and hours
* money keeps three digits that mean something, however small it is
* a number beside a bound that it would look like gets more digits: 79.96 % is below 80 %
* null becomes an empty text, and the missing side of a pair a dash
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

from schemas.errors import counted

DASH = "–"

BEYOND_LIMIT = "> limit"
"""In place of a percentile that lies among the time-outs: beyond the time limit."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MAX_DECIMALS = 9
"""Costs are kept in whole nano-dollars."""


def percent(rate: float | None, *bounds: float | None) -> str:
    """Return a rate between 0 and 1 as a percentage: 0.875 is `87.5`.

    Args:
        rate: the rate.
        bounds: those that it is held against; 0.7996 beside 0.8 is `79.96`.
    """
    return "" if rate is None else _distinct_text(lambda r, n: f"{100 * r:.{n}f}", rate, 1, bounds)


def percent_range(low: float, high: float, *bounds: float | None) -> str:
    """Return the limits of an interval of a rate as percentages: `[80.1, 92.3]`.

    Args:
        low: its lower end.
        high: its upper end.
        bounds: those that it is held against, as of `percent`.
    """
    return f"[{percent(low, *bounds)}, {percent(high, *bounds)}]"


class Limited(Protocol):
    """What has an interval of a rate: its limits, and the mean over cases that it is of."""

    @property
    def low(self) -> float | None:
        """Lower limit."""

    @property
    def high(self) -> float | None:
        """Upper limit."""

    @property
    def estimate(self) -> float | None:
        """The mean over cases; None: it was not kept."""


def limits_of(rate: float | None, found: Limited | None, *bounds: float | None) -> str:
    """Return the limits of an interval that stands beside its rate: `[80.1, 92.3]`.

    Where the interval is of something else by more than a tenth of a point, since cases have
    unequal numbers of trials, it says of what: `case mean 75.0 [61.0, 88.0]`.
    """
    if found is None or found.low is None or found.high is None:
        return ""
    return case_mean(rate, found.estimate) + percent_range(found.low, found.high, *bounds)


def case_mean(rate: float | None, estimate: float | None) -> str:
    """Return `case mean 75.0 ` before the limits that are of it, nothing where it is the rate."""
    from schemas.base import is_apart  # noqa: PLC0415 - with pydantic, which not all load

    return f"case mean {percent(estimate)} " if is_apart(rate, estimate) else ""


def limits_after(rate: float | None, found: Limited | None, *bounds: float | None) -> str:
    """Return what follows a printed rate: ` [80.1, 92.3]`, or `, case mean 75.0 [61.0, 88.0]`."""
    limits = limits_of(rate, found, *bounds)
    return limits and (" " if limits.startswith("[") else ", ") + limits


def strict_after(strict: float | None, coverage: float | None) -> str:
    """Return what follows a passed rate of a part of the trials alone: `, strict 41.7`.

    The strict rate counts what has no verdict as failed; where nothing lacks one it is the rate.
    """
    is_partial = strict is not None and coverage is not None and coverage < 1
    return f", strict {percent(strict)}" if is_partial else ""


def points(rate: float | None, *bounds: float | None) -> str:
    """Return a distance between rates in points of 100, without its sign: 0.18 is `18.0`.

    Args:
        rate: the distance.
        bounds: those that its size is held against, as of `percent`.
    """
    return percent(None if rate is None else abs(rate), *bounds)


def signed_points(difference: float | None, *bounds: float | None) -> str:
    """Return a difference of rates in points of 100: -0.18 is `-18.0`, 0.05 is `+5.0`.

    Args:
        difference: of two rates.
        bounds: those that its size is held against, as of `percent`.
    """
    if difference is None:
        return ""
    text = points(difference, *bounds)
    if float(text) == 0:
        return text
    return ("-" if difference < 0 else "+") + text


def score(value: float | None) -> str:
    """Return a score of judges, on 0-10: `7.25`; a dash where there is none."""
    return DASH if value is None else f"{value:z.2f}"


def signed_score(difference: float | None) -> str:
    """Return a difference of scores with its sign: `-0.50`; a dash where there is none."""
    if difference is None:
        return DASH
    text = f"{difference:+.2f}"
    return "0.00" if float(text) == 0 else text


def times(ratio: float | None) -> str:
    """Return a ratio: two decimals, three digits that mean something where it is small or large."""
    if ratio is None:
        return ""
    return f"{ratio:.2f}" if 0.1 <= ratio < 100 else f"{ratio:.3g}"


def chance(p: float | None) -> str:
    """Return a p or q value: three decimals, `<0.001` below."""
    if p is None:
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def millis(value: float | None) -> str:
    """Return milliseconds without decimals."""
    return "" if value is None else f"{value:.0f}"


def whole(number: float | None, *bounds: float | None) -> str:
    """Return a count, or milliseconds in a sentence, with commas: `12,345`.

    Args:
        number: the number.
        bounds: those that it is held against; 2000.4 beside 2000 is `2,000.4`.
    """
    return "" if number is None else _distinct_text(lambda x, n: f"{x:,.{n}f}", number, 0, bounds)


def some(texts: Sequence[str], between: str = ", ", *, most: int = 3) -> str:
    """Return the first of several texts; past a number of them, how many more there are."""
    more = len(texts) - most
    return between.join(texts[:most]) + (f" and {whole(more)} more" if more > 0 else "")


def in_cases(n_cases: int, n_clusters: int | None = None) -> str:
    """Return what a number rests on: `1 case`, `1,200 cases`, `40 cases in 8 clusters`."""
    cases = counted(n_cases, "case")
    if n_clusters is None:
        return cases
    return f"{cases} in {counted(n_clusters, 'cluster')}"


def usd(amount: float | None, *bounds: float | None) -> str:
    """Return dollars without their sign: cents from one dollar on, three digits below.

    Args:
        amount: the dollars.
        bounds: those that it is held against; 1.004 beside 1 is `1.004`.
    """
    if amount is None:
        return ""
    decimals = 2
    if 0 < amount < 1:
        decimals = min(2 - math.floor(math.log10(amount)), MAX_DECIMALS)
    return _distinct_text(lambda x, n: f"{x:,.{n}f}", amount, decimals, bounds)


def _distinct_text(
    form: Callable[[float, int], str], number: float, decimals: int, bounds: Iterable[float | None]
) -> str:
    """Return a number with as many decimals more as keep it from looking like a bound it is not."""
    others = [bound for bound in bounds if bound is not None and bound != number]
    for more in range(MAX_DECIMALS - decimals):
        text = form(number, decimals + more)
        if all(form(bound, decimals + more) != text for bound in others):
            return text
    return form(number, decimals)


def duration(ms: float | None) -> str:
    """Return how long something took: `850ms`, `12.3s`, `3m12s`, `1h05m`, `2d03h`."""
    if ms is None:
        return ""
    if ms < 1000:
        return f"{ms:.0f}ms"
    if ms < 59_950:
        return f"{ms / 1000:.1f}s"
    seconds = round(ms / 1000)
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02d}s"
    minutes = seconds // 60
    if minutes < 24 * 60:
        return f"{minutes // 60}h{minutes % 60:02d}m"
    hours = minutes // 60
    return f"{hours // 24}d{hours % 24:02d}h"


def moment(at_ms: int | None) -> str:
    """Return milliseconds since 1970 as a minute of UTC: `2026-02-13 10:11`."""
    at = _at(at_ms)
    return "" if at is None else f"{at:%Y-%m-%d %H:%M}"


def iso_moment(at_ms: int | None) -> str | None:
    """Return milliseconds since 1970 as UTC ISO 8601 text; None past the year 9999.

    They are added as whole numbers, never as a float.
    """
    at = _at(at_ms)
    return None if at is None else at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _at(at_ms: int | None) -> datetime | None:
    try:
        return None if at_ms is None else EPOCH + timedelta(milliseconds=at_ms)
    except OverflowError:
        return None


def pair(before: str | None, after: str | None) -> str:
    """Return `before→after`; nothing at all when both are missing."""
    if not before and not after:
        return ""
    return f"{before or DASH}→{after or DASH}"


def best_first_key(rate: float | None) -> float:
    """Return what sorts rates: the best first, those that are not known last."""
    return 1.0 if rate is None else -rate

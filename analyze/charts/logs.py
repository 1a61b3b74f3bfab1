"""Logarithmic axes with ticks at round numbers, also where a value is zero.

Costs and times spread over powers of ten. A free model has no place on a log scale: then the scale
is linear below the smallest cost that is there, so that zero can stand beside the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import altair as alt

LEAST_RATIO = 6.0
"""Of the ends of an axis: so that it has two ticks at least."""

MOST_TICKS = 10

MILLIS = (
    "datum.value < 1000 ? format(datum.value, ',~g') + ' ms' "
    ": format(datum.value / 1000, ',~g') + ' s'"
)
USD = "datum.value ? '$' + format(datum.value, datum.value < 1 ? '.1~r' : ',~r') : '$0'"
"""Texts of ticks."""


@dataclass(frozen=True)
class LogRange:
    """What an axis spans; `low` is positive, and `from_zero` adds the zero before it."""

    low: float
    high: float
    from_zero: bool

    @property
    def scale(self) -> alt.Scale:
        """Return the scale; what lies beyond an end stands on it."""
        if self.from_zero:
            return alt.Scale(type="symlog", constant=self.low, domain=[0, self.high], clamp=True)
        return alt.Scale(type="log", domain=[self.low, self.high], nice=False, clamp=True)

    def axis(self, title: str, label: str) -> alt.Axis:
        """Return an axis with round ticks.

        Args:
            title: of the axis.
            label: an expression of a tick's text, such as `MILLIS`.
        """
        ticks = ticks_of(self.low, self.high)
        return alt.Axis(
            title=title, values=[0.0, *ticks] if self.from_zero else ticks, labelExpr=label,
            labelOverlap="greedy",
        )  # fmt: skip

    def place(self, value: float) -> float:
        """Return where a value stands between the ends, 0 to 1."""
        if self.from_zero:
            return math.log1p(max(value, 0) / self.low) / math.log1p(self.high / self.low)
        inside = min(max(value, self.low), self.high)
        return math.log(inside / self.low) / math.log(self.high / self.low)


def log_range(values: Iterable[float | None], pad: float = 1.15) -> LogRange | None:
    """Return an axis on which values can stand; None when none of them is positive.

    Args:
        values: zero or positive; None is left out.
        pad: what the ends are beyond the values, as a factor.
    """
    known = [value for value in values if value is not None]
    positive = [value for value in known if value > 0]
    if not positive:
        return None
    low, high = min(positive) / pad, max(positive) * pad
    if high / low < LEAST_RATIO:
        middle, half = math.sqrt(low * high), math.sqrt(LEAST_RATIO)
        low, high = middle / half, middle * half
    return LogRange(low, high, from_zero=len(positive) < len(known))


def ticks_of(low: float, high: float) -> list[float]:
    """Return round numbers between two positive ends: 1, 2, 5, 10, or powers of ten alone."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for mantissas in ((1, 2, 5), (1,)):
        ticks = [float(f"{digit}e{power}") for power in powers for digit in mantissas]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= MOST_TICKS:
            return inside
    return inside[:: math.ceil(len(inside) / MOST_TICKS)]

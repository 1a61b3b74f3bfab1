"""Quantiles by linear interpolation at (n - 1) * p, as everywhere in benchlake."""

from __future__ import annotations

from collections.abc import Sequence


def quantile(values: Sequence[float], p: float) -> float | None:
    """Return one quantile; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    place = (len(ordered) - 1) * p
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def spread(values: Sequence[float]) -> dict[str, float | None]:
    """Return the median, the 99th percentile and the largest."""
    top = max(values, default=None)
    return {"p50": quantile(values, 0.5), "p99": quantile(values, 0.99), "max": top}

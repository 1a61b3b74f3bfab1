"""Routing tiers by tool use: the rate decides the tier, the interval decides how sure it is.

The bounds are half open, so that no rate falls between two tiers: 79.5 % is tier 2.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

from schemas.summary import Interval, TierLabel

Tier = Literal[1, 2, 3]

LOWER_BOUNDS: MappingProxyType[Tier, float] = MappingProxyType({1: 0.80, 2: 0.50, 3: 0.0})
"""Rate from which a tier begins, best tier first."""

LABELS: MappingProxyType[Tier, TierLabel] = MappingProxyType(
    {
        1: "Tier 1 (Tool-Capable)",
        2: "Tier 2 (Tool-Capable but Inconsistent)",
        3: "Tier 3 (Tool-Incapable)",
    }
)


def tier_of(rate: float | None) -> Tier | None:
    """Return the tier of a tool-use rate; None, unrated, where nothing was tried."""
    if rate is None:
        return None
    return next(tier for tier, bound in LOWER_BOUNDS.items() if rate >= bound)


def tier_confident(tier: Tier | None, interval: Interval | None) -> bool | None:
    """Return whether the whole interval lies inside the tier; None without an interval."""
    if tier is None or interval is None:
        return None
    return tier_of(interval.low) == tier_of(interval.high) == tier

"""Routing tiers by tool use: the rate decides the tier, the interval decides how sure it is.

The bounds are half open, so that no rate falls between two tiers: 79.5 % is tier 2.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

from schemas.base import Interval
from schemas.config.project import Thresholds
from schemas.output.summary import TierLabel

Tier = Literal[1, 2, 3]

DEFAULT = Thresholds()

LABELS: MappingProxyType[Tier, TierLabel] = MappingProxyType(
    {
        1: "Tier 1 (Tool-Capable)",
        2: "Tier 2 (Tool-Capable but Inconsistent)",
        3: "Tier 3 (Tool-Incapable)",
    }
)


def tier_of(rate: float | None, bounds: Thresholds = DEFAULT) -> Tier | None:
    """Return the tier of a tool-use rate; None, unrated, where nothing was tried."""
    if rate is None:
        return None
    if rate >= bounds.tier_1_from:
        return 1
    return 2 if rate >= bounds.tier_2_from else 3


def tier_confident(
    tier: Tier | None, interval: Interval | None, bounds: Thresholds = DEFAULT
) -> bool | None:
    """Return whether the whole interval lies inside the tier; None without an interval."""
    if tier is None or interval is None:
        return None
    return tier_of(interval.low, bounds) == tier_of(interval.high, bounds) == tier

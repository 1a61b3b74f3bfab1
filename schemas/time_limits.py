"""Which exceptions of the older tool were time-outs: their name does not say, their time does.

That tool calls a request that ran into its limit `exception`, like a refused connection. A refused
connection fails at once; what ended just when the limit was reached timed out. Its config.json
names the limit of its last start; rows that were published without it, and runs that were resumed
with another one, show theirs: several exceptions that took the same whole number of ten seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import orjson

LATE_MS = 1_000
"""How late after its limit a request that timed out may have ended."""

ROUND_MS = 10_000
"""Limits that nobody wrote down are multiples of it."""

NEAR_MS = 250
"""How near to such a multiple exceptions have to end for it to be taken as their limit."""

LEAST_ALIKE = 2
"""Exceptions that have to end there."""


def limit_of_config(run_dir: Path) -> int | None:
    """Return the time limit of a run of the older tool, in ms; None where nobody wrote it down."""
    try:
        config = orjson.loads((run_dir / "config.json").read_bytes())
    except (OSError, ValueError):
        return None
    seconds = config.get("timeout_s") if isinstance(config, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    return round(seconds * 1000) if 0 < seconds < 1e9 else None


def shared_limits(times_ms: Iterable[int]) -> frozenset[int]:
    """Return the limits that the times of exceptions show, in ms.

    Args:
        times_ms: how long each request took that ended in an exception.
    """
    near = Counter(time - time % ROUND_MS for time in times_ms if time % ROUND_MS < NEAR_MS)
    return frozenset(limit for limit, n in near.items() if limit and n >= LEAST_ALIKE)


def is_at_limit(time_ms: int | None, limits_ms: Iterable[int]) -> bool:
    """Return whether a request ended when one of the limits was reached: never before it."""
    return time_ms is not None and any(0 <= time_ms - limit <= LATE_MS for limit in limits_ms)

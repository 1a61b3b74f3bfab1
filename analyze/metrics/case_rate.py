"""A rate over cases with its interval: what tiers and routing judge by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analyze.metrics.intervals import wilson_shrunk
from schemas.interval import Interval


@dataclass(frozen=True)
class CaseRate:
    """Hits among the trials of several cases; rate and interval are None without any."""

    n_cases: int
    n_trials: int
    n_hits: int
    rate: float | None
    interval: Interval | None


def case_rate(hits: Sequence[int], trials: Sequence[int]) -> CaseRate:
    """Return the rate over cases.

    Args:
        hits: of each case.
        trials: of each case; a case without any is left out.
    """
    n_trials, n_hits = sum(trials), sum(hits)
    return CaseRate(
        n_cases=sum(1 for m in trials if m),
        n_trials=n_trials,
        n_hits=n_hits,
        rate=n_hits / n_trials if n_trials else None,
        interval=wilson_shrunk(hits, trials),
    )


NO_RATE = case_rate((), ())
"""Of something that was never tried."""

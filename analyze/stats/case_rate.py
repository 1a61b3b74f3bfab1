"""A rate over cases with its interval: what tiers and routing judge by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analyze.stats.intervals import wilson_shrunk
from analyze.stats.units import Clusters, n_clusters, unit_sums
from schemas.base import Interval


@dataclass(frozen=True)
class CaseRate:
    """Hits among the trials of several cases; rate and interval are None without any."""

    n_cases: int
    n_trials: int
    n_hits: int
    rate: float | None
    interval: Interval | None
    n_clusters: int | None = None
    """Units that the cases make up; None: each stands alone."""

    @property
    def n_units(self) -> int:
        """Draws that the rate rests on."""
        return self.n_cases if self.n_clusters is None else self.n_clusters


def interval_of_units(
    clusters: Clusters, hits: Sequence[int], trials: Sequence[int]
) -> Interval | None:
    """Return the 95 % interval of the mean rate of units, which clusters of cases are.

    Args:
        clusters: of each case.
        hits: of each case.
        trials: of each case; a case without any is left out.
    """
    if not any(clusters):
        return wilson_shrunk(hits, trials)
    kept = [case for case in zip(clusters, hits, trials, strict=True) if case[2]]
    if not kept:
        return None
    names, *counts = (list(column) for column in zip(*kept, strict=True))
    found = wilson_shrunk(*unit_sums(names, *counts))
    told = {"n_cases": len(kept), "n_clusters": n_clusters(names)}
    return None if found is None else found.model_copy(update=told)


def case_rate(hits: Sequence[int], trials: Sequence[int], clusters: Clusters = ()) -> CaseRate:
    """Return the rate over cases.

    Args:
        hits: of each case.
        trials: of each case; a case without any is left out.
        clusters: of each case; left out when each of them stands alone.
    """
    n_trials, n_hits = sum(trials), sum(hits)
    tried = [cluster for cluster, m in zip(clusters, trials, strict=False) if m]
    return CaseRate(
        n_cases=sum(1 for m in trials if m),
        n_trials=n_trials,
        n_hits=n_hits,
        rate=n_hits / n_trials if n_trials else None,
        interval=interval_of_units(clusters, hits, trials),
        n_clusters=n_clusters(tried),
    )


NO_RATE = case_rate((), ())
"""Of something that was never tried."""

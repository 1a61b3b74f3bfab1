"""Cases and trials with a verdict: what stands behind a model's passed rate."""

from __future__ import annotations

from typing import NamedTuple

from schemas.output.summary import GroupSummary


class Verdicts(NamedTuple):
    """Of one model."""

    n_cases: int
    """With a verdict."""
    n_trials: int
    """With a verdict."""
    n_clusters: int | None = None
    """Units that these cases make up; None when each stands alone."""

    @property
    def n_units(self) -> int:
        """Draws that the rate rests on."""
        return self.n_cases if self.n_clusters is None else self.n_clusters


def verdicts_of(group: GroupSummary) -> Verdicts:
    """Return what stands behind a model's passed rate; the summary has it with its interval.

    In a summary of before, no interval meant that there is one case at most.
    """
    interval = group.passed_ci95
    if interval is not None:
        return Verdicts(interval.n_cases, interval.n_trials, interval.n_clusters)
    n_trials = round((group.coverage or 0.0) * group.n_scorable)
    if group.n_cases is not None:
        return Verdicts(group.n_cases, n_trials, group.n_clusters)
    return Verdicts(1 if n_trials else 0, n_trials)

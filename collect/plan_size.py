"""How large a plan is: what a run counts against, and what it can show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from schemas.trial import PlannedTrial


@dataclass(frozen=True, slots=True)
class PlanSize:
    """Counts of one plan."""

    n_planned: int
    n_scorable_cases: int
    """Of the model that has fewest."""
    repetitions: int
    """Of the scorable trials, at most."""
    clusters: Mapping[str, str | None] = field(default_factory=dict)
    """Of each scorable case of that model, by case_id; empty where no case is in one."""


def size_of(plan: Iterable[PlannedTrial]) -> PlanSize:
    """Return the size of a plan; holds its case ids and clusters only."""
    cases: dict[str, dict[str, str | None]] = {}
    planned = repetitions = 0
    for trial in plan:
        planned += 1
        chosen = cases.setdefault(trial.model_id, {})
        if trial.is_scorable:
            chosen[trial.case_id] = trial.cluster
            repetitions = max(repetitions, trial.repetition)
    fewest = min(cases.values(), key=len, default={})
    return PlanSize(planned, len(fewest), repetitions, clusters_of(fewest))


def clusters_of(cases: Mapping[str, str | None]) -> Mapping[str, str | None]:
    """Return the cluster of each case; nothing where no case is in one."""
    return cases if any(cases.values()) else {}

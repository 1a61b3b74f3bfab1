"""How large a plan is: what a run counts against, and what it can show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from schemas.run.plan import PlannedTrial


@dataclass(frozen=True, slots=True)
class PlanSize:
    """Counts of one model's part of a plan."""

    n_planned: int
    n_scorable_cases: int
    repetitions: int
    """Of the scorable trials, at most."""
    clusters: Mapping[str, str | None] = field(default_factory=dict)
    """Of each scorable case, by case_id; empty where no case is in one."""


def sizes_of(plan: Iterable[PlannedTrial]) -> dict[str, PlanSize]:
    """Return the size of each model's part of a plan; holds its case ids and clusters only."""
    planned: dict[str, int] = {}
    repetitions: dict[str, int] = {}
    cases: dict[str, dict[str, str | None]] = {}
    for trial in plan:
        model_id = trial.model_id
        planned[model_id] = planned.get(model_id, 0) + 1
        chosen = cases.setdefault(model_id, {})
        if trial.is_scorable:
            chosen[trial.case_id] = trial.cluster
            repetitions[model_id] = max(repetitions.get(model_id, 0), trial.repetition)
    return {
        model_id: PlanSize(
            count, len(cases[model_id]), repetitions.get(model_id, 0), clusters_of(cases[model_id])
        )
        for model_id, count in planned.items()
    }


def clusters_of(cases: Mapping[str, str | None]) -> Mapping[str, str | None]:
    """Return the cluster of each case; nothing where no case is in one."""
    return cases if any(cases.values()) else {}

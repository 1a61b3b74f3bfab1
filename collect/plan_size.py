"""How large a plan is: what a run counts against, and what it can show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.trial import PlannedTrial


@dataclass(frozen=True, slots=True)
class PlanSize:
    """Counts of one plan."""

    n_planned: int
    n_scorable_cases: int
    """Of the model that has fewest."""
    repetitions: int
    """Of the scorable trials, at most."""


def size_of(plan: Iterable[PlannedTrial]) -> PlanSize:
    """Return the size of a plan; holds its case ids only."""
    cases: dict[str, set[str]] = {}
    planned = repetitions = 0
    for trial in plan:
        planned += 1
        chosen = cases.setdefault(trial.model_id, set())
        if trial.is_scorable:
            chosen.add(trial.case_id)
            repetitions = max(repetitions, trial.repetition)
    fewest = min((len(chosen) for chosen in cases.values()), default=0)
    return PlanSize(planned, fewest, repetitions)

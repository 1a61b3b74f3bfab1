"""How small a drop of the pass rate a plan can show, before it is run (statistics S11).

The one place where the collector asks the analysis, for a closed formula of the standard library.
"""

from __future__ import annotations

from collections.abc import Iterable

from analyze.metrics.power import (
    BETWEEN_CASES,
    PASS_RATE,
    SAME_HARD_CASES,
    cases_for_margin,
    planning_mde,
)
from collect.config import RunInputs
from schemas.trial import PlannedTrial


def detectable_drop(inputs: RunInputs, plan: Iterable[PlannedTrial]) -> float | None:
    """Return the drop, as a fraction of 1; None when no drop at all could be shown."""
    cases, repetitions = _size(plan)
    limits = inputs.project.thresholds
    if cases < 2:
        return None
    return planning_mde(cases, repetitions, alpha=limits.alpha, power=limits.power)


def detectable_text(inputs: RunInputs, plan: Iterable[PlannedTrial]) -> str:
    """Return what the plan can and cannot show, with the assumptions."""
    trials = list(plan)
    cases, repetitions = _size(trials)
    limits = inputs.project.thresholds
    drop = detectable_drop(inputs, trials)
    size = f"{cases} scorable cases x {repetitions}"
    if drop is None:
        return f"{size} repetitions are too few to show any drop of the pass rate"
    needed = cases_for_margin(
        limits.pass_rate_margin, max(repetitions, 1), alpha=limits.alpha, power=limits.power
    )
    enough = (
        ""
        if needed is None or needed <= cases
        else f"; {100 * limits.pass_rate_margin:g} points need {needed} cases"
    )
    return (
        f"{size} repetitions can show a drop of {100 * drop:.3g} points or more{enough} "
        f"(power {100 * limits.power:g} %, assuming a pass rate of {PASS_RATE:g}, "
        f"rho {BETWEEN_CASES:g}, kappa {SAME_HARD_CASES:g})"
    )


def _size(plan: Iterable[PlannedTrial]) -> tuple[int, int]:
    """Return scorable cases and repetitions of the model that has fewest cases."""
    cases: dict[str, set[str]] = {}
    repetitions = 0
    for trial in plan:
        chosen = cases.setdefault(trial.model_id, set())
        if trial.is_scorable:
            chosen.add(trial.case_id)
            repetitions = max(repetitions, trial.repetition)
    return min((len(chosen) for chosen in cases.values()), default=0), repetitions

"""How small a drop of the pass rate a plan can show, before it is run (statistics S11).

The one place where the collector asks the analysis, for a closed formula of the standard library.
"""

from __future__ import annotations

from analyze.metrics.power import (
    BETWEEN_CASES,
    PASS_RATE,
    SAME_HARD_CASES,
    cases_for_margin,
    planning_mde,
)
from collect.plan_size import PlanSize
from schemas.thresholds import Thresholds


def detectable_drop(size: PlanSize, limits: Thresholds) -> float | None:
    """Return the drop, as a fraction of 1; None when no drop at all could be shown."""
    if size.n_scorable_cases < 2:
        return None
    return planning_mde(
        size.n_scorable_cases, size.repetitions, alpha=limits.alpha, power=limits.power
    )


def detectable_text(size: PlanSize, limits: Thresholds) -> str:
    """Return what the plan can and cannot show, with the assumptions."""
    cases, repetitions = size.n_scorable_cases, size.repetitions
    drop = detectable_drop(size, limits)
    counted = f"{cases} scorable cases x {repetitions}"
    if drop is None:
        return f"{counted} repetitions are too few to show any drop of the pass rate"
    needed = cases_for_margin(
        limits.pass_rate_margin, max(repetitions, 1), alpha=limits.alpha, power=limits.power
    )
    enough = (
        ""
        if needed is None or needed <= cases
        else f"; {100 * limits.pass_rate_margin:g} points need {needed} cases"
    )
    return (
        f"{counted} repetitions can show a drop of {100 * drop:.3g} points or more{enough} "
        f"(power {100 * limits.power:g} %, assuming a pass rate of {PASS_RATE:g}, "
        f"rho {BETWEEN_CASES:g}, kappa {SAME_HARD_CASES:g})"
    )

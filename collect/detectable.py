"""How small a drop of the pass rate a run could show (statistics S11), in its last words."""

from __future__ import annotations

from collect.plan_size import PlanSize
from schemas.thresholds import Thresholds


def detectable_text(size: PlanSize, limits: Thresholds) -> str:
    """Return what a run of a size can and cannot show, with the assumptions.

    `collect plan` asks the last runs as well; this one is over, and waits for nothing.
    """
    from analyze.metrics.planning import Planner  # noqa: PLC0415 - not before the first request

    planner = Planner(limits)
    cases, repetitions = size.n_scorable_cases, size.repetitions
    drop = planner.smallest(cases, repetitions) if repetitions else None
    counted = f"{cases} scorable cases x {repetitions}"
    if drop is None:
        return f"{counted} repetitions are too few to show any drop of the pass rate"
    margin, given = limits.pass_rate_margin, planner.given
    needed = planner.cases(margin, repetitions)
    enough = (
        ""
        if needed is None or needed <= cases
        else f"; {100 * margin:g} points need {needed} cases"
    )
    return (
        f"{counted} repetitions can show a drop of {100 * drop:.3g} points or more{enough} "
        f"(power {100 * limits.power:g} %, assuming a pass rate of {given.pass_rate:g}, "
        f"rho {given.rho:g}, kappa {given.kappa:g})"
    )

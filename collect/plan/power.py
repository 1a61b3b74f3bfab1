"""What a plan can show of each model, by what the last runs of its suite tell (S11).

Where the collector asks the analysis: for closed formulas of the standard library, and for the
words that `analyze power` says them in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analyze.power.render import LETTERS, merged, power_facts, power_lines
from analyze.stats.power.assumptions import RunSeen, assumptions_of
from analyze.stats.power.planning import PowerPlan, power_plan
from collect.plan.plan import PlanSize
from schemas.config.project import Thresholds


def powers_of(
    sizes: Mapping[str, PlanSize], runs: Sequence[Mapping[str, RunSeen]], limits: Thresholds
) -> tuple[PowerPlan, ...]:
    """Return what a plan shows of each model and what the margin of the thresholds would need.

    Args:
        sizes: of each model's part of the plan.
        runs: from `outcomes_seen`, newest first; empty when there is no run yet.
        limits: alpha, power, and the margin.
    """
    return tuple(
        power_plan(
            (model_id,),
            assumptions_of(
                (run[model_id] for run in runs if model_id in run),
                size.clusters,
                margin=limits.pass_rate_margin,
            ),
            limits,
            n_cases=size.n_scorable_cases,
            repetitions=max(size.repetitions, 1),
        )
        for model_id, size in sizes.items()
    )


def powers_text(plans: Sequence[PowerPlan], limits: Thresholds) -> list[str]:
    """Return the same in words; models of which the same is known stand together."""
    lines = [line for plan in merged(plans) for line in power_lines(plan, limits)]
    return [*lines, *LETTERS]


def powers_json(plans: Sequence[PowerPlan]) -> list[dict[str, object]]:
    """Return the same for JSON, an object a model."""
    return [facts for plan in plans for facts in power_facts(plan)]


def detectable_drop(plans: Sequence[PowerPlan]) -> float | None:
    """Return the drop that is shown of whichever model drops by it; None when of some none is."""
    drops = [plan.smallest if plan.direction == "drop" else None for plan in plans]
    known = [drop for drop in drops if drop is not None]
    return max(known) if known and len(known) == len(drops) else None

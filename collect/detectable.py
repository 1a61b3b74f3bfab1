"""How small a drop of the pass rate a run could show, in its last words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from collect.plan_size import PlanSize
from schemas.thresholds import Thresholds

if TYPE_CHECKING:
    from analyze.stats.planning import PowerPlan

NAMED = 3
"""Models, or groups of which the same is known, that each have a line."""


def detectable_lines(
    sizes: Mapping[str, PlanSize], runs_dir: Path, suite_id: str, limits: Thresholds
) -> list[str]:
    """Return what a run of a size can and cannot show, by what `collect plan` learns from.

    Args:
        sizes: of each model's part of the plan.
        runs_dir: folder with one folder a run, of which the run itself is one by now.
        suite_id: suite of the run.
        limits: alpha, power, and the margin.
    """
    from analyze.report.power_text import headline, merged  # noqa: PLC0415 - not before
    from collect.plan_power import powers_of  # noqa: PLC0415 - the first request
    from collect.seen import MOST_BYTES, outcomes_seen  # noqa: PLC0415

    runs = outcomes_seen(runs_dir, suite_id, sizes, at_most=MOST_BYTES)
    plans = merged(powers_of(sizes, runs, limits))
    lines = [f"{headline(plan)} ({_source(plan)})" for plan in plans[:NAMED]]
    if len(plans) > NAMED:
        lines.append(f"and {len(plans) - NAMED} more: `analyze power` has them all")
    return lines


def _source(plan: PowerPlan) -> str:
    """Return what the figure rests on."""
    given, power = plan.given, "seen four times in five"
    if given.run_ids:
        return f"{power}, by the last runs"
    rate = f"a pass rate of {given.pass_rate:g}, rho {given.rho:g}, kappa {given.kappa:g}"
    return f"{power}, assuming {rate}"

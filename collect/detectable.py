"""How small a drop of the pass rate a run could show, in its last words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from collect.plan_size import PlanSize
from schemas.config.project import Thresholds
from schemas.run.model_names import ModelNames, with_names

NAMED = 3
"""Models, or groups of which the same is known, that each have a line."""


def is_first(runs_dir: Path, suite_id: str) -> bool:
    """Return whether no more than one run of a suite is there, of which shards are parts."""
    from collect.plan.previous_runs import runs_of  # noqa: PLC0415 - not before the first request

    return len(runs_of(runs_dir, suite_id)) <= 1


def detectable_lines(
    sizes: Mapping[str, PlanSize],
    runs_dir: Path,
    suite_id: str,
    limits: Thresholds,
    names: ModelNames,
) -> list[str]:
    """Return what a run of a size can and cannot show, by what `collect plan` learns from.

    Args:
        sizes: of each model's part of the plan.
        runs_dir: folder with one folder a run, of which the run itself is one by now.
        suite_id: suite of the run.
        limits: alpha, power, and the margin.
        names: of the models.
    """
    from analyze.report.power_text import closing_line, merged  # noqa: PLC0415 - not
    from collect.plan.power import powers_of  # noqa: PLC0415 - before the first request
    from collect.plan.previous_runs import MOST_BYTES, outcomes_seen  # noqa: PLC0415

    runs = outcomes_seen(runs_dir, suite_id, sizes, at_most=MOST_BYTES)
    plans = with_names(merged(powers_of(sizes, runs, limits)), names)
    lines = [closing_line(plan) for plan in plans[:NAMED]]
    if len(plans) > NAMED:
        lines.append(f"and {len(plans) - NAMED} more: `analyze power` has them all")
    return lines

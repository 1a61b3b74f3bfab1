"""Whether the counts, lists and averages that a report stores follow from its instances.

Ours are those of `schemas.formats.report_v2`; what is right only by the rule of the tool behind the
document is a warning. There, skipped instances are complete, every instance without a patch has an
empty one whatever became of it, and the upper of two middle scores is the median. Its files are
right by this rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from schemas.base import Finding, error, pointer, warning
from schemas.formats.report_v2 import (
    ID_FIELDS,
    ReportSummary,
    id_lists,
    is_percentage,
    pass_rate,
    summary_of,
)
from schemas.formats.report_v2_instance import COMPONENTS, InstanceResult
from schemas.io.json_text import excerpt

ROUNDING = 0.005 + 1e-9
"""How far a number that was rounded to two decimals can be from the one meant."""

DERIVED = tuple(name for name in ReportSummary.model_fields if name != "total_instances")
"""Fields of a summary that follow from the instances: counts, rates and averages."""


def older_ids(instances: Sequence[InstanceResult]) -> dict[str, list[str]]:
    """Return the id lists by the older tool's rule, in which an instance can be in several."""
    kept: dict[str, list[str]] = {name: [] for name in ID_FIELDS}
    for one in instances:
        if one.resolved:
            kept["resolved_ids"].append(one.instance_id)
        elif one.status == "fail":
            kept["unresolved_ids"].append(one.instance_id)
        name = "error_ids" if one.status == "error" else "completed_ids"
        kept[name].append(one.instance_id)
        if not (one.solution_patch or "").strip():
            kept["empty_patch_ids"].append(one.instance_id)
    return {name: sorted(ids) for name, ids in kept.items()}


def older_summary(
    instances: Sequence[InstanceResult], ids: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """Return the summary by the older tool's rule, which has zeros where nothing is known."""
    n = len(instances)
    scores = sorted(one.validation.total_score or 0 for one in instances)
    functional = [one.validation.functional_points for one in instances]
    functional = [points for points in functional if points > 0]
    durations = [one.duration_seconds for one in instances if one.duration_seconds]
    resolved, errors = len(ids["resolved_ids"]), len(ids["error_ids"])
    return {
        "instances_submitted": n,
        "instances_completed": len(ids["completed_ids"]),
        "resolved_instances": resolved,
        "instances_resolved": resolved,
        "instances_unresolved": len(ids["unresolved_ids"]),
        "failed_instances": sum(one.status == "fail" for one in instances),
        "error_instances": errors,
        "instances_error": errors,
        "instances_empty_patch": len(ids["empty_patch_ids"]),
        "resolve_rate": resolved / n if n else 0,
        "resolution_rate": 100 * resolved / n if n else 0,
        "avg_score": math.fsum(scores) / n if n else 0,
        "avg_functional_score": math.fsum(functional) / len(functional) if functional else 0,
        "median_score": scores[n // 2] if n else 0,
        "min_score": min(scores, default=0),
        "max_score": max(scores, default=0),
        "avg_duration_seconds": math.fsum(durations) / len(durations) if durations else 0,
        "total_duration_seconds": math.fsum(durations),
    } | {f"{name}_pass_rate": pass_rate(instances, name) if n else 0 for name in COMPONENTS}


def count_problems(report: Mapping[str, Any], instances: Sequence[InstanceResult]) -> list[Finding]:
    """Return what a complete report says of its instances and they do not, and what it leaves out.

    The ids of its instances are distinct.
    """
    summary = report.get("summary")
    stored: dict[str, Any] = summary if isinstance(summary, dict) else {}
    ours = summary_of(instances)
    old_ids = older_ids(instances)
    old = older_summary(instances, old_ids)
    found = _lists(report, instances, old_ids)
    for name in DERIVED:
        value, margin = stored.get(name), 0 if "instances" in name else ROUNDING
        if not _is_number(value):
            continue
        if name == "resolve_rate" and is_percentage(value):
            value, margin = value / 100, ROUNDING / 100
        found += _judged(name, value, getattr(ours, name), old[name], margin)
    message = "the field `{}` is absent; it follows from the instances"
    return found + [
        warning("derivable_absent", pointer("summary", name), message.format(name))
        for name in ReportSummary.model_fields
        if name not in stored and getattr(ours, name) is not None
    ]


def _judged(
    name: str, stored: float, ours: float | None, old: float | None, margin: float
) -> list[Finding]:
    where = pointer("summary", name)
    if _is_near(stored, ours, margin):
        return []
    derived = "nothing" if ours is None else excerpt(ours)
    if _is_near(stored, old, margin):
        message = f"{excerpt(stored)}, counted by the rule of an older tool; ours gives {derived}"
        return [warning("older_rule", where, message)]
    message = f"{excerpt(stored)} is stored, and the instances give {derived}"
    if not margin:
        return [error("count_contradicts", where, message)]
    return [
        warning("rate_differs" if name.endswith("_rate") else "average_differs", where, message)
    ]


def _is_near(stored: float, meant: float | None, margin: float) -> bool:
    if meant is None:
        return False
    return stored == meant or math.isclose(
        stored, meant, rel_tol=1e-9 if margin else 0, abs_tol=margin
    )


def _is_number(value: object) -> TypeGuard[float]:
    """Return whether a number can be compared: what is out of all bounds is a finding already."""
    return type(value) in {int, float} and -1e18 <= value <= 1e18  # type: ignore[operator]


def _lists(
    report: Mapping[str, Any], instances: Sequence[InstanceResult], old: Mapping[str, Sequence[str]]
) -> list[Finding]:
    found = []
    ours = id_lists(instances)._asdict()
    for name in ID_FIELDS:
        stored, where = report.get(name), pointer(name)
        if name not in report:
            message = f"the field `{name}` is absent; it follows from the instances"
            found.append(warning("derivable_absent", where, message))
        elif isinstance(stored, list | tuple) and all(isinstance(one, str) for one in stored):
            ids = sorted(stored)
            if ids == list(ours[name]):
                continue
            if ids == old[name]:
                message = "listed by the rule of an older tool; ours gives other instances"
                found.append(warning("older_rule", where, message))
            else:
                message = _difference(ids, ours[name])
                found.append(error("ids_contradict", where, message))
    return found


def _difference(stored: Sequence[str], ours: Sequence[str]) -> str:
    """Return the first ids that are too many or too few, and how many there are."""
    extra, lacking = sorted(set(stored) - set(ours)), sorted(set(ours) - set(stored))
    parts = [
        f"{len(ids):,} {what} (such as {excerpt(ids[0])})"
        for ids, what in ((extra, "do not belong there"), (lacking, "are lacking"))
        if ids
    ]
    return " and ".join(parts) or "an id stands there more than once"

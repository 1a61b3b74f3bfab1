"""Lists and summary of a report by the rule of the tool behind schema v2, which is not ours.

There, skipped instances are complete, every instance without a patch has an empty one whatever
became of it, and the upper of two middle scores is the median. Its files are right by this rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from schemas.formats.report_v2 import ID_FIELDS
from schemas.formats.report_v2_instance import InstanceResult
from schemas.report_scoring import COMPONENTS
from schemas.report_summary import pass_rate


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

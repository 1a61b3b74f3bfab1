"""Whether the verdicts, scores and times that a report stores agree with one another (D-D3, D-D4).

All of it is a warning: a report keeps what its maker said, and its reader is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from schemas.finding import Finding, pointer, warning
from schemas.formats.report_v2_counts import ROUNDING
from schemas.formats.report_v2_instance import InstanceResult
from schemas.json_values import shown
from schemas.report_scoring import COMPONENTS, is_resolved, is_scored, points_of

TIMES = ("start_time", "created_at", "end_time")


def verdict_problems(raw: Sequence[Any], instances: Sequence[InstanceResult]) -> Iterator[Finding]:
    """Yield what disagrees within single instances.

    Args:
        raw: instances as they were parsed.
        instances: the same ones as records.
    """
    for number, (written, one) in enumerate(zip(raw, instances, strict=True)):
        if "resolved" not in written:
            message = "the field `resolved` is absent; it follows from the status"
            yield warning("derivable_absent", pointer("instances", number, "resolved"), message)
        if one.resolved != (one.status == "resolved"):
            where = pointer("instances", number, "status")
            flag = "true" if one.resolved else "false"
            message = f"the status is `{one.status}`, and the field `resolved` is {flag}"
            yield warning("verdict_inconsistent", where, message)
        if one.validation.model_fields_set and is_scored(one.validation):
            yield from _scored(number, one)
        for name in ("start_time", "end_time"):
            yield from time_problems(getattr(one, name), "instances", number, name)


def _scored(number: int, one: InstanceResult) -> Iterator[Finding]:
    """Yield where the verdict, the points or the total are not those that the statuses earn."""
    validation = one.validation
    if is_resolved(validation) != one.resolved:
        by_score, said = ("resolved", "not") if not one.resolved else ("not resolved", "it is")
        message = f"by its score and components the instance is {by_score}; the report says {said}"
        yield warning("verdict_inconsistent", pointer("instances", number, "resolved"), message)
    given = validation.model_fields_set
    told = 0.0
    for component in COMPONENTS:
        name = f"{component}_points"
        points, earned = getattr(validation, name), points_of(validation, component)
        told += points
        if name in given and abs(points - earned) > ROUNDING:
            where = pointer("instances", number, "validation", name)
            message = f"{shown(points)} is stored for it, and the component earns {earned}"
            yield warning("score_differs", where, message)
    total = validation.total_score
    if "total_score" in given and total is not None and abs(total - told) > ROUNDING:
        where = pointer("instances", number, "validation", "total_score")
        message = f"{shown(total)} is stored, and the points add up to {shown(told)}"
        yield warning("score_differs", where, message)


def time_problems(value: object, *where: str | int) -> Iterator[Finding]:
    """Yield a warning for a text that is no ISO 8601 time."""
    if isinstance(value, str) and not is_time(value):
        message = f"{shown(value)} is no time as ISO 8601 writes it (2025-12-29T14:30:00Z)"
        yield warning("time_format", pointer(*where), message)


def is_time(text: str) -> bool:
    """Return whether a text is a date or a time as ISO 8601 writes them."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def report_times(report: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield warnings for the times of the report as a whole."""
    for name in TIMES:
        yield from time_problems(report.get(name), name)

"""Summary and id lists of an evaluation report, from its instances alone (D-D5, D-D6).

Each instance is in exactly one class, so counts always equal lists and add up to the total; two
halves of a report have the totals of the whole.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from schemas.base import Count, Rate
from schemas.formats.report_v2_instance import (
    Component,
    InstanceResult,
    Number,
    ReportRecord,
    Seconds,
    SumOfSeconds,
)
from schemas.report_scoring import COMPONENTS, is_scored, status_of

InstanceClass = Literal["resolved", "unresolved", "empty_patch", "error", "skipped"]

TWINS = (
    ("resolved_instances", "instances_resolved"),
    ("error_instances", "instances_error"),
)
"""Two names of one number; a reader accepts either (D-D1)."""


class ReportSummary(ReportRecord):
    """Overall statistics; null where the instances cannot say."""

    total_instances: Count | None = None
    instances_submitted: Count | None = None
    instances_completed: Count | None = None
    resolved_instances: Count | None = None
    instances_resolved: Count | None = None
    instances_unresolved: Count | None = None
    failed_instances: Count | None = Field(default=None, description="Unresolved or empty.")
    error_instances: Count | None = None
    instances_error: Count | None = None
    instances_empty_patch: Count | None = None

    resolve_rate: Rate | None = Field(default=None, description="Resolved ÷ total, 0 to 1.")
    resolution_rate: Number | None = Field(default=None, description="The same in percent.")

    avg_score: Number | None = None
    avg_functional_score: Number | None = Field(default=None, description="Over all instances.")
    median_score: Number | None = None
    min_score: Number | None = None
    max_score: Number | None = None

    deployment_pass_rate: Rate | None = None
    unit_test_pass_rate: Rate | None = None
    functional_pass_rate: Rate | None = None
    bulk_pass_rate: Rate | None = None
    no_tweaks_pass_rate: Rate | None = None

    avg_duration_seconds: Seconds | None = Field(
        default=None, description="Over instances with a duration."
    )
    total_duration_seconds: SumOfSeconds | None = None

    @model_validator(mode="before")
    @classmethod
    def _either_name(cls, data: Any) -> Any:
        """Fill in the other name of a pair, and take a resolve_rate above 1 as a percentage."""
        if not isinstance(data, dict):
            return data
        data = with_twins(data, TWINS)
        rate = data.get("resolve_rate")
        if is_percentage(rate):
            data["resolve_rate"] = rate / 100
            data.setdefault("resolution_rate", rate)
        elif type(rate) in {int, float}:
            data.setdefault("resolution_rate", rate * 100)
        elif "resolve_rate" not in data:
            percent = data.get("resolution_rate")
            if type(percent) in {int, float} and 0 <= percent <= 100:
                data["resolve_rate"] = percent / 100
        return data


def with_twins(data: dict[str, Any], pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return a copy in which both names of each pair stand, where one does."""
    data = dict(data)
    for one, other in pairs:
        if one in data:
            data.setdefault(other, data[one])
        elif other in data:
            data[one] = data[other]
    return data


def is_percentage(rate: object) -> bool:
    """Return whether a stored resolve_rate is one of 0 to 100 rather than of 0 to 1 (D-D2)."""
    return type(rate) in {int, float} and 1 < rate <= 100  # type: ignore[operator]


class IdLists(NamedTuple):
    """Instance ids by what became of them, each sorted and without duplicates."""

    resolved_ids: tuple[str, ...]
    unresolved_ids: tuple[str, ...]
    error_ids: tuple[str, ...]
    empty_patch_ids: tuple[str, ...]
    completed_ids: tuple[str, ...]


def has_patches(instances: Iterable[InstanceResult]) -> bool:
    """Return whether any instance carries what the model handed in."""
    return any((one.solution_patch or "").strip() for one in instances)


def class_of(instance: InstanceResult, *, patches: bool) -> InstanceClass:
    """Return the one class of an instance (D-D5).

    Args:
        instance: one of a report.
        patches: whether the report carries patches at all; without, none is an empty one.
    """
    if instance.status in {"skipped", "error"}:
        return "skipped" if instance.status == "skipped" else "error"
    if instance.resolved:
        return "resolved"
    if patches and not (instance.solution_patch or "").strip():
        return "empty_patch"
    return "unresolved"


def id_lists(instances: Sequence[InstanceResult], *, patches: bool | None = None) -> IdLists:
    """Return the five id lists of instances.

    Args:
        instances: of one report, or a part of one.
        patches: whether the whole report carries patches; by default, whether these do.
    """
    known = has_patches(instances) if patches is None else patches
    found: dict[InstanceClass, set[str]] = {}
    for instance in instances:
        found.setdefault(class_of(instance, patches=known), set()).add(instance.instance_id)

    def ids(*classes: InstanceClass) -> tuple[str, ...]:
        return tuple(sorted(set().union(*(found.get(name, set()) for name in classes))))

    return IdLists(
        resolved_ids=ids("resolved"),
        unresolved_ids=ids("unresolved"),
        error_ids=ids("error"),
        empty_patch_ids=ids("empty_patch"),
        completed_ids=ids("resolved", "unresolved"),
    )


def summary_of(
    instances: Sequence[InstanceResult], *, patches: bool | None = None
) -> ReportSummary:
    """Return the summary of instances whose ids are distinct (D-D6); rates are unrounded.

    Args:
        instances: of one report, or a part of one.
        patches: whether the whole report carries patches; by default, whether these do.
    """
    ids = id_lists(instances, patches=patches)
    total, resolved = len(instances), len(ids.resolved_ids)
    rate = resolved / total if total else None
    return ReportSummary(
        total_instances=total,
        instances_submitted=total,
        instances_completed=len(ids.completed_ids),
        resolved_instances=resolved,
        instances_resolved=resolved,
        instances_unresolved=len(ids.unresolved_ids),
        failed_instances=len(ids.unresolved_ids) + len(ids.empty_patch_ids),
        error_instances=len(ids.error_ids),
        instances_error=len(ids.error_ids),
        instances_empty_patch=len(ids.empty_patch_ids),
        resolve_rate=rate,
        resolution_rate=None if rate is None else 100 * resolved / total,
        **_scores(instances),
        **_durations(instances),
    )


def _scores(instances: Sequence[InstanceResult]) -> dict[str, float | None]:
    """Return what follows from scores and components; null where no instance has any."""
    totals = [one.validation.total_score for one in instances]
    known = [float(score) for score in totals if score is not None]
    found: dict[str, float | None] = {
        "avg_score": math.fsum(known) / len(known) if known else None,
        "median_score": statistics.median(known) if known else None,
        "min_score": min(known, default=None),
        "max_score": max(known, default=None),
    }
    if any(is_scored(one.validation) for one in instances):
        points = math.fsum(one.validation.functional_points for one in instances)
        found["avg_functional_score"] = points / len(instances)
        for component in COMPONENTS:
            found[f"{component}_pass_rate"] = pass_rate(instances, component)
    return found


def pass_rate(instances: Sequence[InstanceResult], component: Component) -> float:
    """Return the share of all instances whose component passed, 0 to 1."""
    passed = sum(status_of(one.validation, component) == "pass" for one in instances)
    return passed / len(instances)


def _durations(instances: Sequence[InstanceResult]) -> dict[str, float | None]:
    """Return seconds over instances with a duration; a zero is an older tool's word for none."""
    known = [one.duration_seconds for one in instances if one.duration_seconds]
    total = math.fsum(known)
    return {
        "avg_duration_seconds": total / len(known) if known else None,
        "total_duration_seconds": total if known else None,
    }

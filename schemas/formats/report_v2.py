"""Evaluation report, schema v2: its fields under both of their names (D-D1), summary and id lists.

`EvaluationReport(**json.load(file))` reads every document that validates. What can be derived and
is absent is filled in; what a report says itself is never changed, save that a `resolve_rate` in
percent becomes the fraction it stands for.

Summary and id lists follow from the instances alone (D-D5, D-D6). Each instance is in exactly one
class, so counts always equal lists and add up to the total; two halves of a report have the totals
of the whole.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from schemas.base import Count, Metadata, Rate
from schemas.formats.report_v2_instance import (
    COMPONENTS,
    Component,
    InstanceResult,
    Number,
    ReportRecord,
    Seconds,
    SumOfSeconds,
    is_scored,
    status_of,
)

InstanceClass = Literal["resolved", "unresolved", "empty_patch", "error", "skipped"]

SUMMARY_TWINS = (
    ("resolved_instances", "instances_resolved"),
    ("error_instances", "instances_error"),
)
"""Two names of one number; a reader accepts either (D-D1)."""

REPORT_VERSION = "2.0"

TWINS = (
    ("model_name", "model_name_or_path"),
    ("config", "evaluation_config"),
    ("start_time", "created_at"),
)
"""Two names of one field; both are always written, a reader accepts either (D-D1)."""

Ids = Annotated[tuple[str, ...], Field(strict=False)]


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
        data = with_twins(data, SUMMARY_TWINS)
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
    """Return the one class of an instance (D-D5); without any `patches` none is an empty one."""
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
    """Return the summary of instances whose ids are distinct (D-D6), as `id_lists`; unrounded."""
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


class EvaluationConfig(ReportRecord):
    """How the evaluation was set up; what else a tool writes there passes through."""

    tasks_file: str | None = None
    validation_mode: str | None = None
    max_workers: int | None = None
    functional_validation: bool | None = None
    scratch_org_alias: str | None = None


class EvaluationReport(ReportRecord):
    """One model on one data set."""

    schema_version: Literal["2.0"]
    run_id: str
    model_name: str
    model_name_or_path: str
    dataset: str
    created_at: str = Field(description="ISO 8601; ours in UTC with Z.")
    start_time: str
    end_time: str | None = None
    evaluation_config: EvaluationConfig
    config: EvaluationConfig
    instances: Annotated[tuple[InstanceResult, ...], Field(strict=False)]
    summary: ReportSummary
    resolved_ids: Ids = ()
    unresolved_ids: Ids = ()
    error_ids: Ids = ()
    empty_patch_ids: Ids = ()
    completed_ids: Ids = Field(default=(), description="Resolved or unresolved.")
    environment: Metadata | None = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _either_name(cls, data: Any) -> Any:
        return with_twins(data, TWINS) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _derived(self) -> EvaluationReport:
        """Fill in what is absent and follows from the instances.

        A summary of more instances than are here keeps its gaps.
        """
        if any(one.model_name is None for one in self.instances):
            name = {"model_name": self.model_name}
            named = (
                one.model_copy(update=name) if one.model_name is None else one
                for one in self.instances
            )
            self._set(instances=tuple(named))
        absent = [name for name in ID_FIELDS if name not in self.model_fields_set]
        if absent:
            found = id_lists(self.instances)._asdict()
            self._set(**{name: found[name] for name in absent})
        stored = self.summary
        gaps = ReportSummary.model_fields.keys() - stored.model_fields_set
        if gaps and stored.total_instances in {None, len(self.instances)}:
            derived = vars(summary_of(self.instances))
            self._set(summary=stored.model_copy(update={name: derived[name] for name in gaps}))
        return self

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


ID_FIELDS = ("resolved_ids", "unresolved_ids", "error_ids", "empty_patch_ids", "completed_ids")


def report_json(report: EvaluationReport) -> str:
    """Return a report as the text of its file: the schema's order, two spaces, ASCII only.

    Unknown fields follow the known ones. The text is a function of the report.

    Raises:
        ValueError: an unknown field holds NaN or Infinity, which JSON does not have.
    """
    return json.dumps(report.model_dump(), indent=2, allow_nan=False) + "\n"

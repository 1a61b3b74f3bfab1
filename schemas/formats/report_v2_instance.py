"""One instance of an evaluation report v2: its fields, and its points, score and verdict.

Every field of the source document and of the tool behind it. Fields that we do not know pass
through, and a number that is not known is null rather than 0.

Points, score and verdict are the table of schema v2 as pure functions (D-D3, D-D4); points are all
or nothing. Nothing here changes a report that somebody else made: an imported one keeps its own
points and verdict, and `schemas.formats.report_v2_problems` says where they differ from these.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, WrapValidator, model_validator

from schemas.base import Count, Metadata, Unit

InstanceStatus = Literal["resolved", "fail", "error", "skipped"]
ComponentStatus = Literal["pass", "fail", "error", "skipped"]
Component = Literal["deployment", "unit_test", "functional", "bulk", "no_tweaks"]

COMPONENTS: tuple[Component, ...] = get_args(Component)

POINTS = tuple(f"{component}_points" for component in COMPONENTS)
"""Fields that hold the points of a component."""

MAX_POINTS: dict[Component, int] = {
    "deployment": 10,
    "unit_test": 20,
    "functional": 50,
    "bulk": 10,
    "no_tweaks": 10,
}
"""What a component is worth; 100 together."""

CRITICAL: tuple[Component, ...] = ("deployment", "unit_test", "functional")
"""Components without which nothing is resolved, whatever the score."""

MIN_RESOLVED_SCORE = 80
"""Total score from which on an instance can be resolved."""

MIN_COVERAGE = 80
"""Percent of lines that unit tests have to reach, where the coverage is known."""

BULK_RECORDS = 200
"""Records that a bulk test has to handle unless another number is expected."""


def _as_written(value: object, handler: Any) -> Any:
    """Check a number as a float, and keep it as it was written: 100 stays a whole number."""
    checked = handler(value)
    return value if type(value) is int else checked


Number = Annotated[float, WrapValidator(_as_written), Field(ge=-1e6, le=1e6)]
"""A score or points; far beyond 0 to 100, since the older tool never checked them."""

Seconds = Annotated[float, WrapValidator(_as_written), Field(ge=0, le=1e9), Unit("s")]
SumOfSeconds = Annotated[float, WrapValidator(_as_written), Field(ge=0, le=1e18), Unit("s")]


class ReportRecord(BaseModel):
    """A part of a file of others: frozen, nothing converted, unknown fields kept."""

    model_config = ConfigDict(
        frozen=True, extra="allow", strict=True, allow_inf_nan=False, defer_build=True
    )


class ValidationBreakdown(ReportRecord):
    """How each component of an instance was validated, with its points."""

    deployment_status: ComponentStatus = "skipped"
    deployment_message: str | None = ""
    deployment_points: Number = 0

    unit_test_status: ComponentStatus = "skipped"
    unit_test_message: str | None = ""
    unit_test_passed: Count | None = None
    unit_test_failed: Count | None = None
    unit_test_total: Count | None = None
    unit_test_coverage: Number | None = Field(
        default=None, description="Percent of lines; the criterion of unit tests asks for 80."
    )
    unit_test_points: Number = 0

    functional_status: ComponentStatus = "skipped"
    functional_message: str | None = ""
    functional_details: Metadata | None = Field(default_factory=dict)
    functional_points: Number = 0

    bulk_status: ComponentStatus = "skipped"
    bulk_message: str | None = ""
    bulk_records_processed: Count | None = None
    bulk_records_expected: Count | None = Field(default=None, description="Null stands for 200.")
    bulk_points: Number = 0

    no_tweaks_status: ComponentStatus = "skipped"
    no_tweaks_message: str | None = ""
    no_tweaks_points: Number = 0

    total_score: Number | None = Field(
        default=None, description="0 to 100; null where nothing was scored."
    )

    @model_validator(mode="before")
    @classmethod
    def _total_of_points(cls, data: Any) -> Any:
        """Let a missing total be the sum of the points, where there are any and it is a score."""
        if not isinstance(data, dict) or "total_score" in data:
            return data
        points = [data[name] for name in POINTS if name in data]
        if not points or not all(type(one) in {int, float} and abs(one) <= 1e6 for one in points):
            return data
        total = sum(points)
        return data | {"total_score": total} if abs(total) <= 1e6 else data


class InstanceResult(ReportRecord):
    """What became of one instance (a task, a case)."""

    instance_id: str
    model_name: str | None = Field(default=None, description="The report's, unless it says so.")
    status: InstanceStatus
    resolved: bool = Field(description="The verdict; follows from the status where it is absent.")
    validation: ValidationBreakdown = Field(default_factory=ValidationBreakdown)
    duration_seconds: Seconds | None = None
    scratch_org_username: str | None = None
    scratch_org_creation_time: Seconds | None = None
    error_message: str | None = None
    error_type: str | None = None
    start_time: str | None = Field(default=None, description="ISO 8601; ours in UTC with Z.")
    end_time: str | None = None
    log_path: str | None = None
    solution_patch: str | None = Field(default=None, description="What the model handed in.")

    @model_validator(mode="before")
    @classmethod
    def _resolved_by_status(cls, data: Any) -> Any:
        if isinstance(data, dict) and "resolved" not in data and "status" in data:
            return data | {"resolved": data["status"] == "resolved"}
        return data


def read_time(text: str) -> datetime | None:
    """Return the date or time that a text of ISO 8601 says; None for any other text."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def status_of(validation: ValidationBreakdown, component: Component) -> ComponentStatus:
    """Return the status of one component."""
    status: ComponentStatus = getattr(validation, f"{component}_status")
    return status


def is_scored(validation: ValidationBreakdown) -> bool:
    """Return whether any component was validated at all."""
    return any(status_of(validation, component) != "skipped" for component in COMPONENTS)


def points_of(validation: ValidationBreakdown, component: Component) -> int:
    """Return the points that a component earns: all of them or none (D-D4).

    Unit tests need every test to pass, and 80 % coverage where it is known; bulk needs the expected
    records, 200 unless said otherwise, where the number processed is known.
    """
    met = status_of(validation, component) == "pass"
    if component == "unit_test":
        met = met and _all_tests_passed(validation)
    if component == "bulk":
        processed = validation.bulk_records_processed
        expected = validation.bulk_records_expected
        least = BULK_RECORDS if expected is None else expected
        met = met and (processed is None or processed >= least)
    return MAX_POINTS[component] if met else 0


def _all_tests_passed(validation: ValidationBreakdown) -> bool:
    passed, total = validation.unit_test_passed, validation.unit_test_total
    if validation.unit_test_failed:
        return False
    if passed is not None and total is not None and passed < total:
        return False
    coverage = coverage_of(validation)
    return coverage is None or coverage >= MIN_COVERAGE


def coverage_of(validation: ValidationBreakdown) -> float | None:
    """Return the percentage of lines that unit tests reached; None when nobody says."""
    if validation.unit_test_coverage is not None:
        return validation.unit_test_coverage
    coverage = (validation.functional_details or {}).get("coverage")
    return coverage if type(coverage) in {int, float} else None


def score_of(validation: ValidationBreakdown) -> int:
    """Return the points of all components together, 0 to 100."""
    return sum(points_of(validation, component) for component in COMPONENTS)


def scored(validation: ValidationBreakdown) -> ValidationBreakdown:
    """Return a validation with the points and the total that its statuses earn."""
    points = {f"{component}_points": points_of(validation, component) for component in COMPONENTS}
    return validation.model_copy(update=points | {"total_score": score_of(validation)})


def is_resolved(validation: ValidationBreakdown) -> bool:
    """Return the verdict on scored components (D-D3): 80 points, and every critical one passed."""
    total = score_of(validation) if validation.total_score is None else validation.total_score
    return total >= MIN_RESOLVED_SCORE and all(
        status_of(validation, component) == "pass" for component in CRITICAL
    )

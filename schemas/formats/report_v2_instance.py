"""One instance of an evaluation report v2, and what is known of each component of its validation.

Every field of the source document and of the tool behind it. Fields that we do not know pass
through, and a number that is not known is null rather than 0.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, WrapValidator, model_validator

from schemas.base import Count, Metadata, Unit

InstanceStatus = Literal["resolved", "fail", "error", "skipped"]
ComponentStatus = Literal["pass", "fail", "error", "skipped"]
Component = Literal["deployment", "unit_test", "functional", "bulk", "no_tweaks"]

POINTS = tuple(f"{component}_points" for component in get_args(Component))
"""Fields that hold the points of a component."""


def _as_written(value: object, handler: Any) -> Any:
    """Check a number as a float, and keep it as it was written: 100 stays a whole number."""
    checked = handler(value)
    return value if type(value) is int else checked


Number = Annotated[float, WrapValidator(_as_written), Field(ge=-1e6, le=1e6)]
"""A score or points; far beyond 0 to 100, since the older tool never checked them."""

Seconds = Annotated[float, WrapValidator(_as_written), Field(ge=0, le=1e9), Unit("s")]
SumOfSeconds = Annotated[float, WrapValidator(_as_written), Field(ge=0, le=1e18), Unit("s")]


class ReportRecord(BaseModel):
    """A part of a report: frozen, nothing converted, unknown fields kept."""

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

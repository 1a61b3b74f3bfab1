"""The SWE-bench harness' own files: its report in both styles, and predictions (D-D9).

Style 5 is that of swebench 5.0, style 4 lacks the classification of infrastructure failures. The
integer 2 is the harness' schema_version in both.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from schemas.base import Count

Style = Literal[4, 5]

FAILURE_TIERS: dict[str, Literal["infra_failure", "ambiguous_failure"]] = {
    "browser_launch_failed": "infra_failure",
    "display_unavailable": "infra_failure",
    "out_of_memory": "infra_failure",
    "container_unavailable": "infra_failure",
    "network_unreachable": "infra_failure",
    "missing_module": "ambiguous_failure",
    "no_tests_collected": "ambiguous_failure",
    "tests_timed_out": "ambiguous_failure",
}
"""Reasons that the harness finds in its logs, and whether they are likely no fault of the model."""

Ids = Annotated[tuple[str, ...], Field(strict=False)]


class HarnessRecord(BaseModel):
    """A part of the harness' files: nothing converted, unknown fields kept."""

    model_config = ConfigDict(
        frozen=True, extra="allow", strict=True, allow_inf_nan=False, defer_build=True
    )


class SwebenchReport(HarnessRecord):
    """The report of one evaluation run, style 5; in style 4 the `_failure` fields are absent.

    infra_failure and ambiguous_failure are subsets of unresolved and error together.
    """

    total_instances: Count = Field(description="Of the data set.")
    submitted_instances: Count = Field(description="Predictions, outside the data set too.")
    completed_instances: Count = Field(description="With a report of their own, readable or not.")
    resolved_instances: Count
    unresolved_instances: Count
    infra_failure_instances: Count | None = None
    ambiguous_failure_instances: Count | None = None
    empty_patch_instances: Count
    error_instances: Count = Field(description="Without a report, or with an unreadable one.")
    completed_ids: Ids
    incomplete_ids: Ids = Field(description="In the data set, without a prediction.")
    empty_patch_ids: Ids
    submitted_ids: Ids
    resolved_ids: Ids
    unresolved_ids: Ids
    infra_failure_ids: Ids | None = None
    ambiguous_failure_ids: Ids | None = None
    failure_reasons: dict[str, str] | None = None
    error_ids: Ids
    schema_version: Literal[2]
    unstopped_instances: Count | None = None
    unstopped_containers: Ids | None = None
    unremoved_images: Ids | None = None


class Prediction(HarnessRecord):
    """What a model handed in for one instance: a line of the predictions file."""

    instance_id: str
    model_name_or_path: str
    model_patch: str | None = Field(description="Null or empty: the model handed in nothing.")


class InstanceReport(HarnessRecord):
    """What the harness wrote of one instance below its logs: `{instance_id: this}`."""

    resolved: bool
    patch_is_None: bool | None = None
    patch_exists: bool | None = None
    patch_successfully_applied: bool | None = None
    infra_failure: bool | None = None
    infra_failure_reason: str | None = None
    tests_status: dict[str, Any] | None = None

"""Evaluation report, schema v2: its fields under both of their names (D-D1).

`EvaluationReport(**json.load(file))` reads every document that validates. What can be derived and
is absent is filled in; what a report says itself is never changed, save that a `resolve_rate` in
percent becomes the fraction it stands for.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from schemas.base import Metadata
from schemas.formats.report_v2_instance import InstanceResult, ReportRecord, ValidationBreakdown
from schemas.report_summary import ReportSummary, id_lists, summary_of, with_twins

__all__ = [
    "EvaluationConfig",
    "EvaluationReport",
    "InstanceResult",
    "ReportSummary",
    "ValidationBreakdown",
    "report_json",
]

REPORT_VERSION = "2.0"

TWINS = (
    ("model_name", "model_name_or_path"),
    ("config", "evaluation_config"),
    ("start_time", "created_at"),
)
"""Two names of one field; both are always written, a reader accepts either (D-D1)."""

Ids = Annotated[tuple[str, ...], Field(strict=False)]


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
            self._set(instances=tuple(map(self._named, self.instances)))
        absent = [name for name in ID_FIELDS if name not in self.model_fields_set]
        if absent:
            found = id_lists(self.instances)._asdict()
            self._set(**{name: found[name] for name in absent})
        told = self.summary
        gaps = ReportSummary.model_fields.keys() - told.model_fields_set
        if gaps and told.total_instances in {None, len(self.instances)}:
            derived = summary_of(self.instances)
            filled = {name: getattr(derived, name) for name in gaps}
            self._set(summary=told.model_copy(update=filled))
        return self

    def _named(self, instance: InstanceResult) -> InstanceResult:
        if instance.model_name is not None:
            return instance
        return instance.model_copy(update={"model_name": self.model_name})

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
    data = report.model_dump()
    return json.dumps(data, indent=2, allow_nan=False) + "\n"

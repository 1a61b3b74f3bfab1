"""One definition of everything that crosses a border: files a user writes, records we write.

The names of evaluation reports can be imported from here; each loads when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schemas.formats.migration.migrate import migrate_v1_to_v2
    from schemas.formats.report_v2 import EvaluationConfig, EvaluationReport, ReportSummary
    from schemas.formats.report_v2_instance import InstanceResult, ValidationBreakdown
    from schemas.formats.report_v2_problems import schema_problems, validate_schema

__all__ = [
    "EvaluationConfig",
    "EvaluationReport",
    "InstanceResult",
    "ReportSummary",
    "ValidationBreakdown",
    "migrate_v1_to_v2",
    "schema_problems",
    "validate_schema",
]

_HOMES = {
    "InstanceResult": "schemas.formats.report_v2_instance",
    "ValidationBreakdown": "schemas.formats.report_v2_instance",
    "migrate_v1_to_v2": "schemas.formats.migration.migrate",
    "schema_problems": "schemas.formats.report_v2_problems",
    "validate_schema": "schemas.formats.report_v2_problems",
}
"""Where a name is defined that is not in `schemas.formats.report_v2`."""


def __getattr__(name: str) -> Any:
    """Return one of the names; nothing is loaded before."""
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_HOMES.get(name, "schemas.formats.report_v2")), name)

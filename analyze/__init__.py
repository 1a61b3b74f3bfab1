"""Analysis of every run ever made: SQL views, statistics, summaries. Never talks to a model.

The names of evaluation reports can be imported from here; each loads when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyze.exporters.report_v2 import generate_markdown_summary, make_run_report
    from schemas import (
        EvaluationConfig,
        EvaluationReport,
        InstanceResult,
        ReportSummary,
        ValidationBreakdown,
        migrate_v1_to_v2,
        schema_problems,
        validate_schema,
    )

__all__ = [
    "EvaluationConfig",
    "EvaluationReport",
    "InstanceResult",
    "ReportSummary",
    "ValidationBreakdown",
    "generate_markdown_summary",
    "make_run_report",
    "migrate_v1_to_v2",
    "schema_problems",
    "validate_schema",
]

_OURS = frozenset({"generate_markdown_summary", "make_run_report"})


def __getattr__(name: str) -> Any:
    """Return one of the names; nothing is loaded before."""
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(
        import_module("analyze.exporters.report_v2" if name in _OURS else "schemas"), name
    )

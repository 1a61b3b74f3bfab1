"""Every view in reading order: staging, intermediate, marts."""

from __future__ import annotations

VIEWS = (
    "staging/stg_results",
    "staging/stg_plans",
    "staging/trials",
    "intermediate/int_planned_trials",
    "intermediate/int_case_passes",
    "intermediate/int_case_tool_use",
    "intermediate/int_pass_counts",
    "intermediate/int_tool_counts",
    "marts/model_summary",
    "marts/failure_summary",
    "marts/run_summary",
)
"""Every view; each reads only tables and views that stand before it."""

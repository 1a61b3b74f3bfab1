"""Every view in reading order: staging, intermediate, marts."""

from __future__ import annotations

VIEWS = (
    "staging/stg_runs",
    "staging/stg_plans",
    "staging/stg_results",
    "staging/stg_outputs",
    "staging/stg_events",
    "staging/stg_case_aliases",
    "staging/stg_thresholds",
    "staging/stg_failure_types",
    "staging/trials",
    "intermediate/int_plan_counts",
    "intermediate/int_failures",
    "intermediate/int_case_clusters",
    "intermediate/int_case_passes",
    "intermediate/int_case_tool_use",
    "intermediate/int_pass_counts",
    "intermediate/int_tool_counts",
    "intermediate/int_group_models",
    "intermediate/int_group_costs",
    "intermediate/int_group_tool_counts",
    "intermediate/int_cell_hashes",
    "intermediate/int_cell_counts",
    "intermediate/int_cell_pairs",
    "intermediate/int_case_outcomes",
    "marts/runs",
    "marts/models",
    "marts/cases",
    "marts/case_aliases",
    "marts/planned_trials",
    "marts/results",
    "marts/attempts",
    "marts/failures",
    "marts/outputs",
    "marts/events",
    "marts/run_summary",
    "marts/model_summary",
    "marts/failure_summary",
    "marts/repetitions",
    "marts/cells",
    "marts/cell_history",
    "marts/pairs",
    "marts/flips",
    "marts/case_matrix",
    "marts/tool_use",
    "marts/tiers",
    "marts/latency_histogram",
    "marts/cost_quality",
)
"""Every view; each reads only tables and views that stand before it.

A file `x.portable.sql` is no view of its own: it says what `x` says to engines that have no
quantiles of a list, or no `map_extract`.
"""

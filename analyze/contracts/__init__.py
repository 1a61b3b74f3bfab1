"""What a row is of each view: names, types, order and meaning of its columns.

The SQL is written by hand and these records prove it: a test compares the columns of each view with
its contract. No rule and no arithmetic live here. Columns of raw tables, and of views that have no
contract, get their meaning from lake.json and from the contracts that name them.
"""

from __future__ import annotations

from types import MappingProxyType

import duckdb

from analyze.contracts import history, inspect_frames, judges, models, steps, trials
from analyze.contracts.base import STARTED_AT, ViewRow
from schemas.lake import LakeColumn, lake_columns

CONTRACTS: MappingProxyType[str, type[ViewRow]] = MappingProxyType(
    {
        row.view: row
        for module in (models, trials, judges, steps, history, inspect_frames)
        for row in vars(module).values()
        if isinstance(row, type) and issubclass(row, ViewRow) and "view" in vars(row)
    }
)
"""The record of each view that has one, by the view's name."""

SOURCES: MappingProxyType[str, tuple[str, ...]] = MappingProxyType(
    {
        "stg_runs": ("raw_runs",),
        "stg_deciding_profiles": ("raw_deciding_profiles",),
        "stg_plans": ("raw_plans", "planned_trials"),
        "stg_results": ("raw_results",),
        "stg_outputs": ("raw_outputs",),
        "stg_case_aliases": ("raw_aliases",),
        "stg_events": ("events", "raw_results"),
        "stg_evaluations": ("evaluations", "raw_evaluations"),
        "stg_judge_iterations": ("judge_iterations", "raw_judge_iterations"),
        "stg_judgements": ("judgements", "raw_judgements"),
        "stg_pair_iterations": ("pair_iterations", "raw_pair_iterations"),
        "stg_preferences": ("preferences", "raw_preferences"),
        "stg_steps": ("raw_steps",),
        "stg_step_texts": ("raw_step_texts",),
        "int_steps": ("steps", "raw_steps"),
        "int_answers": ("steps", "raw_steps"),
        "stg_recorded_results": ("raw_recorded_results",),
        "int_evaluations": ("evaluations", "raw_evaluations"),
        "int_checks": ("checks",),
        "int_scores": ("scores",),
        "int_limits": ("raw_results",),
        "stg_thresholds": ("raw_thresholds",),
        "stg_failure_types": ("raw_failure_types", "failures"),
        "trials": ("raw_results",),
        "int_run_models": ("model_summary", "cells"),
        "int_case_clusters": ("cases",),
        "int_failures": ("failures",),
        "int_group_models": ("cells",),
        "int_group_costs": ("cost_quality", "cells"),
        "int_cell_hashes": ("flips",),
        "int_cell_counts": ("cells",),
        "int_cell_pairs": ("cell_history", "pairs", "cells"),
    }
)
"""Views without a contract, and the tables and contracts that say what their columns mean.

The first that knows a column tells. The same name means different things in different places:
`started_at_ms` is the start of a trial here and of a run there.
"""

OWN: MappingProxyType[str, str] = MappingProxyType(
    {
        "is_ok": "The provider served the trial.",
        "is_success": "Served, and ended without an error.",
        "is_reused": "The answer was taken from an older run.",
        "is_measured": "Asked in this run, so its time, tokens and cost are this run's.",
        "limit_name": "Limit that ended the trial, by Inspect's name of it.",
        "started_at": STARTED_AT,
        "has_expected_tools": "Names tools that the model should use.",
        "cost_nano_usd": "Cost in whole nano-dollars (USD / 10^9); null when unknown.",
        "run_rank": "Place of the run among all runs, by start and then by name, from 1.",
        "series_no": "Stands for suite_id, provider, model, thinking_level and model_id.",
        "case_no": "Stands for case_hash; null where that is not known.",
        "previous_case_no": "case_no in the previous run.",
        "previous_e2e_ms_total": "e2e_ms_total of the previous run, in ms.",
        "previous_cost_nano_usd": "cost_nano_usd of the previous run (USD / 10^9).",
    }
)
"""What columns mean that stand in no contract and no raw table."""


def meanings_of(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, str]:
    """Return the meaning of each column of a view, where one is declared.

    A view says itself what its columns mean, in its contract. One without a contract means by a
    column what the table means that it is made of, or the view that it is made for.
    """
    columns = [row[0] for row in connection.execute(f"describe {name}").fetchall()]
    known: dict[str, str] = {}
    for source in (name,) if name in CONTRACTS else (*SOURCES.get(name, ()), None):
        for column, meaning in (OWN if source is None else _said_by(source)).items():
            known.setdefault(column, meaning)
    return {column: known[column] for column in columns if column in known}


def _said_by(source: str) -> dict[str, str]:
    """Return the meaning of each column that a raw table or a contract describes."""
    if source in CONTRACTS:
        return _declared(source)
    columns = lake_columns()[source.removeprefix("raw_")]
    return {column.name: meaning for column in columns if (meaning := meaning_of(column))}


def _declared(name: str) -> dict[str, str]:
    fields = CONTRACTS[name].model_fields
    return {column: field.description for column, field in fields.items() if field.description}


def meaning_of(column: LakeColumn) -> str:
    """Return what a column of a raw table means, with its unit."""
    unit = f"[{column.unit}]" if column.unit else ""
    return " ".join(part for part in (column.description or "", unit) if part)

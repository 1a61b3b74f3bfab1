"""Routing tiers as a table and as JSON: rate, interval, tier, and how sure it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from analyze.render.numbers import best_first_key, case_mean, percent, percent_range, whole
from analyze.render.text import Column, line_of, table
from analyze.stats.power.exact import more_cases_for_tier
from analyze.stats.rates import LABELS, tier_confident, tier_of
from schemas.config.project import Thresholds

if TYPE_CHECKING:
    from analyze.routing.options import ToolUseOfOption

COLUMNS = (
    Column("provider", least=5, is_name=True),
    Column("model", least=9, is_name=True),
    Column("thinking", least=3),
    Column("trials", "right"),
    Column("cases", "right"),
    Column("tools%", "right"),
    Column("95 %"),
    Column("tier", least=7),
    Column("confident"),
)


def tier_lines(rows: Sequence[ToolUseOfOption], bounds: Thresholds, width: int) -> list[str]:
    """Return the table of tiers and what its tiers mean.

    Args:
        rows: a row a way to run a model.
        bounds: rates at which the tiers begin.
        width: columns of the terminal.
    """
    if not rows:
        return ["no model was asked anything yet: make a run with `collect run`"]
    best_first = sorted(rows, key=lambda row: best_first_key(row.tool_use.rate))
    lines = table(COLUMNS, [_cells(row, bounds) for row in best_first], width)
    return [
        *lines,
        "",
        f"tier 1 (from {percent(bounds.tier_1_from)} %): give it tools",
        f"tier 2 (from {percent(bounds.tier_2_from)} %): only where a failure does no harm",
        "tier 3: no tools",
        f"no, +n: so many more cases {_or_clusters(rows)}like these would make it confident",
        *(
            f"95 % of {line_of(row.model)}: of its case mean, {percent(interval.estimate)} %"
            for row in best_first
            if (interval := row.tool_use.interval)
            and case_mean(row.tool_use.rate, interval.estimate)
        ),
    ]


def _or_clusters(rows: Sequence[ToolUseOfOption]) -> str:
    is_clustered = any(row.tool_use.n_clusters is not None for row in rows)
    return "(clusters, where cases are in some) " * is_clustered


def tiers_json(rows: Sequence[ToolUseOfOption], bounds: Thresholds) -> str:
    """Return the tiers as a JSON list; rates between 0 and 1."""
    return json.dumps([_object(row, bounds) for row in rows], indent=2)


def _object(row: ToolUseOfOption, bounds: Thresholds) -> dict[str, object]:
    tools = row.tool_use
    tier = tier_of(tools.rate, bounds)
    return {
        "provider": row.provider,
        "model": row.model,
        "thinking_level": row.thinking_level,
        "n_runs": row.n_runs,
        "n_trials": tools.n_trials,
        "n_cases": tools.n_cases,
        "n_clusters": tools.n_clusters,
        "tool_use_rate": tools.rate,
        "ci95": tools.interval.model_dump() if tools.interval else None,
        "tier": tier,
        "tier_label": None if tier is None else LABELS[tier],
        "tier_confident": tier_confident(tier, tools.interval, bounds),
        "more_cases": more_cases_for_tier(tools.rate, tools.n_units, tools.interval, bounds),
    }


def _cells(row: ToolUseOfOption, bounds: Thresholds) -> list[str]:
    tools = row.tool_use
    tier, edges = tier_of(tools.rate, bounds), (bounds.tier_1_from, bounds.tier_2_from)
    return [
        line_of(row.provider),
        line_of(row.model),
        line_of(row.thinking_level or ""),
        whole(tools.n_trials),
        whole(tools.n_cases),
        percent(tools.rate, *edges),
        percent_range(tools.interval.low, tools.interval.high, *edges) if tools.interval else "",
        "unrated" if tier is None else LABELS[tier].removeprefix("Tier "),
        _confidence(row, bounds),
    ]


def _confidence(row: ToolUseOfOption, bounds: Thresholds) -> str:
    tools = row.tool_use
    more = more_cases_for_tier(tools.rate, tools.n_units, tools.interval, bounds)
    if more is None:
        return "on bound"
    return "yes" if more == 0 else f"no, +{whole(more)}"

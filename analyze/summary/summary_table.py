"""summary.md: the table that readers of the older tool know, one row a model.

Everything from outside (names, outputs of commands) is shown as text and nothing else: it can
neither end a cell nor become a link, markup or a terminal command.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import get_args

from analyze.render.markdown import as_text
from analyze.render.numbers import BEYOND_LIMIT, limits_of, millis, pair, percent
from schemas.output.summary import GroupSummary, PercentileName, Percentiles, RunSummary
from schemas.run.inventory import Inventory, ResourceSnapshot
from schemas.run.model_names import NO_NAMES, ModelNames

COLUMNS = (
    "Provider", "Model", "Model size", "Thinking", "n(total)", "n(ok)", "n(err)", "n(rate)",
    "success% (ok)", "obj pass%", "wall ms", "p50 ms", "p95 ms", "p99 ms",
    "RAM used (before→after)", "Disk used% (before→after)", "Ollama store (before→after)",
)  # fmt: skip

RATES = ("Model", "passed%", "95 % interval", "strict%", "cover%", "cases", "success% (all)")
"""Of the table that comes first: how good each model is, and how much that rests on."""

PERCENTILES: tuple[PercentileName, ...] = get_args(PercentileName)


def summary_markdown(
    summary: RunSummary, inventory: Inventory | None = None, names: ModelNames = NO_NAMES
) -> str:
    """Return summary.md: passed rates first, then the table of the older tool.

    Args:
        summary: the run in numbers.
        inventory: names the sizes of local models; without it that column is empty.
        names: of models, for the first table; the other is the older tool's to the letter.
    """
    sizes = {model.name: model.size for model in inventory.ollama_models} if inventory else {}
    twins = Counter(_shown_key(group) for group in summary.models)
    rates = [_rates(group, names, twins[_shown_key(group)] > 1) for group in summary.models]
    rows = [_row(group, sizes, twins[_shown_key(group)] > 1) for group in summary.models]
    lines = [
        "# Benchmark summary",
        "",
        f"Run: {as_text(summary.run_id)}",
        "",
        f"Run wall clock (ms): {millis(summary.run_wall_clock_ms)}".rstrip(),
        "",
        _line(RATES),
        _line(["---"] * len(RATES)),
        *(_line([as_text(cell) for cell in row]) for row in rates),
        "",
        _line(COLUMNS),
        _line(["---"] * len(COLUMNS)),
        *(_line([as_text(cell) for cell in row]) for row in rows),
    ]
    return "\n".join(lines) + "\n"


def _line(cells: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _shown_key(group: GroupSummary) -> tuple[str, str, str | None]:
    return group.provider, group.model, group.thinking_level


def _rates(group: GroupSummary, names: ModelNames, has_twin: bool) -> list[str]:
    """Return how good one model is; the strict rate where not every trial has a verdict."""
    interval = group.passed_ci95
    n_cases = interval.n_cases if interval else int(group.passed_rate is not None)
    is_partial = (group.coverage or 0) < 1
    name = names.of(group.model_id)
    return [
        _name(group, has_twin) if name == group.model_id else f"{name} ({group.model})",
        percent(group.passed_rate),
        limits_of(group.passed_rate, interval),
        percent(group.score_strict) if is_partial else "",
        percent(group.coverage),
        str(n_cases),
        percent(group.success_rate),
    ]


def _name(group: GroupSummary, has_twin: bool) -> str:
    return f"{group.model} ({group.model_id})" if has_twin else group.model


def _row(group: GroupSummary, sizes: Mapping[str, str], has_twin: bool) -> list[str]:
    before, after = group.resources_before, group.resources_after
    return [
        group.provider,
        _name(group, has_twin),
        sizes.get(group.model) or sizes.get(f"{group.model}:latest", ""),
        group.thinking_level or "",
        str(group.n_total),
        str(group.n_ok),
        str(group.n_error),
        str(group.n_rate_limited),
        percent(group.success_rate_ok),
        percent(group.objective_pass_rate),
        millis(group.wall_clock_ms),
        *(_percentile(group.latency_ms, name) for name in PERCENTILES),
        pair(memory_used(before), memory_used(after)),
        pair(disk_use(before), disk_use(after)),
        pair(store_size(before), store_size(after)),
    ]


def _percentile(found: Percentiles, name: PercentileName) -> str:
    return BEYOND_LIMIT if name in found.beyond_limit else millis(getattr(found, name))


def memory_used(snapshot: ResourceSnapshot | None) -> str | None:
    """Return the memory in use, as `free` said it."""
    return snapshot.mem_used if snapshot else None


def disk_use(snapshot: ResourceSnapshot | None) -> str | None:
    """Return how full the disk of `/` is, as `df` said it."""
    return snapshot.disk_root.use_pct if snapshot and snapshot.disk_root else None


def store_size(snapshot: ResourceSnapshot | None) -> str | None:
    """Return the first column of `du`: the second is a path on the user's machine."""
    line = snapshot.ollama_store_du if snapshot else None
    return line.split()[0] if line and line.split() else None

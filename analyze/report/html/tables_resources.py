"""Tables of what stands behind each model: what it took, and exactly which one answered."""

from __future__ import annotations

from collections import Counter

from analyze.render.numbers import duration, pair, usd, whole
from analyze.report.html.table import Cell, Column, Table, number
from analyze.report.html.tables_models import MODEL, asked_as, model_cell
from analyze.report.limits_source import HASH_SHOWN
from schemas.errors import counted
from schemas.output.report import ModelProvenance
from schemas.output.summary import GroupSummary, RunSummary
from schemas.run.inventory import ResourceSnapshot


def resources(summary: RunSummary) -> Table | None:
    """Return what each model took: time, tokens, money, memory, disk; None without a trial."""
    if not any(group.n_total for group in summary.models):
        return None
    columns = (
        MODEL,
        Column("wall clock", "wall_clock_ms", is_number=True),
        Column("input tokens", "tokens.input", is_number=True),
        Column("output tokens", "tokens.output", is_number=True),
        Column("reasoning tokens", "tokens.reasoning", is_number=True),
        Column("cached tokens", "tokens.cached_input", is_number=True),
        Column("output tokens a second", "output_tokens_per_s", is_number=True),
        Column("USD", "cost_usd", is_number=True),
        Column("memory used", "resources.mem_used"),
        Column("disk used", "resources.disk_root.use_pct"),
        Column("model store", "resources.ollama_store_du"),
    )
    kept = _filled(columns, [_resources(group) for group in summary.models])
    return Table("resources", "What each model used", *kept)


def _filled(
    columns: tuple[Column, ...], rows: list[list[Cell]]
) -> tuple[list[Column], list[list[Cell]]]:
    """Return a table without the columns in which no row has anything."""
    filled = Counter(n for row in rows for n, cell in enumerate(row) if cell.text)
    kept = [n for n in range(len(columns)) if filled[n]]
    return [columns[n] for n in kept], [[row[n] for n in kept] for row in rows]


def _resources(group: GroupSummary) -> list[Cell]:
    tokens = group.tokens
    before, after = group.resources_before, group.resources_after
    trials = counted(group.n_total, "trial")
    paid = f"known of {whole(group.n_cost_known)} of {trials}"
    of = f"known of {whole(tokens.n_known)} of {trials}"
    return [
        model_cell(group),
        number(duration(group.wall_clock_ms), group.wall_clock_ms),
        number(whole(tokens.input), tokens.input, note=of),
        number(whole(tokens.output), tokens.output, note=of),
        number(whole(tokens.reasoning), tokens.reasoning),
        number(whole(tokens.cached_input), tokens.cached_input),
        number("" if (speed := group.output_tokens_per_s) is None else f"{speed:.1f}"),
        number(usd(group.cost_usd), group.cost_usd, note=paid),
        Cell(pair(_memory(before), _memory(after))),
        Cell(pair(_disk(before), _disk(after))),
        Cell(pair(_store(before), _store(after))),
    ]


def _memory(snapshot: ResourceSnapshot | None) -> str | None:
    return snapshot.mem_used if snapshot else None


def _disk(snapshot: ResourceSnapshot | None) -> str | None:
    return snapshot.disk_root.use_pct if snapshot and snapshot.disk_root else None


def _store(snapshot: ResourceSnapshot | None) -> str | None:
    """Return the size alone: what stands behind it is a path of the machine."""
    line = snapshot.ollama_store_du if snapshot else None
    return line.split()[0] if line and line.split() else None


def served(models: tuple[ModelProvenance, ...]) -> Table | None:
    """Return exactly which model answered; None where nothing is known of any."""
    if not models:
        return None
    columns = (
        MODEL,
        Column("served as", "served_models"),
        Column("upstream", "served_providers"),
        Column("routing", "routing"),
        Column("endpoint", "base_url"),
        Column("build", "model_build"),
        Column("harness", "harness_version"),
        Column("settings that are not defaults", "settings"),
    )
    kept = _filled(columns, [_served(one) for one in models])
    return Table("served", "Which model answered", *kept)


def _served(one: ModelProvenance) -> list[Cell]:
    build = one.model_build or ""
    return [
        Cell(one.model_id, below=asked_as(one)),
        Cell(", ".join(one.served_models)),
        Cell(", ".join(one.served_providers)),
        Cell(one.routing or ""),
        Cell(one.base_url or "", look="code"),
        Cell(build[:HASH_SHOWN], look="code", note=build),
        Cell(one.harness_version or ""),
        Cell(", ".join(f"{name}={value}" for name, value in one.settings.items()), look="code"),
    ]

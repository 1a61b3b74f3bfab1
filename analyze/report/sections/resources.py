"""What each model used: time, tokens, money, memory, disk."""

from __future__ import annotations

from analyze.render.numbers import duration, pair, usd, whole
from analyze.report.sections import Section
from analyze.report.table import MODEL, Cell, Column, Table, model_cell, number
from analyze.summary.summary_table import disk_use, memory_used, store_size
from schemas.errors import counted
from schemas.output.report import RunReport
from schemas.output.summary import GroupSummary


def resources(report: RunReport) -> Table | None:
    """Return what each model took; None where none has a trial."""
    models = report.summary.models
    if not any(group.n_total for group in models):
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
    rows = [_resources(group) for group in models]
    return Table("resources", "What each model used", columns, rows)


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
        Cell(pair(memory_used(before), memory_used(after))),
        Cell(pair(disk_use(before), disk_use(after))),
        Cell(pair(store_size(before), store_size(after))),
    ]


RESOURCES = Section("Resources", show=resources, shows_numbers=lambda report: report.summary.models)

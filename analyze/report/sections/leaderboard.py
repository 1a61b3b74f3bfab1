"""A row a model: all rates that a summary has, how reliably it called tools, what it used."""

from __future__ import annotations

from collections.abc import Sequence

from analyze.render.numbers import duration, limits_of, pair, percent, usd, whole
from analyze.report.sections import Section
from analyze.report.table import MODEL, Cell, Column, Table, model_cell, number
from analyze.summary.summary_table import disk_use, memory_used, store_size
from schemas.config.project import Thresholds
from schemas.errors import counted
from schemas.output.report import ModelAnswer, RunReport
from schemas.output.summary import GroupSummary, RunSummary


def leaderboard(summary: RunSummary, answers: Sequence[ModelAnswer]) -> Table:
    """Return the models with every rate that there is of them.

    Args:
        summary: of the run.
        answers: its models in their order: highest passed rate first, those that cannot be ranked
            behind the others.
    """
    columns = (
        MODEL,
        Column("passed %", "passed_rate", is_number=True),
        Column("95 %", "passed_ci95"),
        Column("strict %", "score_strict", is_number=True),
        Column("available %", "score_available", is_number=True),
        Column("coverage %", "coverage", is_number=True),
        Column("judged cases", "n_cases", is_number=True),
        Column("verdicts", "n_scorable", is_number=True),
        Column("answered % (available)", "success_rate_ok", is_number=True),
        Column("answered % (all)", "success_rate", is_number=True),
        Column("obj pass %", "objective_pass_rate", is_number=True),
        Column("ranked", "is_ranked"),
    )
    places = {_key(one): place for place, one in enumerate(answers)}
    groups = sorted(summary.models, key=lambda one: places.get(_key(one), len(places)))
    found = {_key(one): one for one in answers}
    rows = [_rates(one, found.get(_key(one))) for one in groups]
    return Table("leaderboard", "Leaderboard: rates of each model", columns, rows)


def _key(one: GroupSummary | ModelAnswer) -> tuple[str | None, ...]:
    return one.provider, one.model, one.thinking_level, one.model_id


def _rates(group: GroupSummary, answer: ModelAnswer | None) -> list[Cell]:
    interval = group.passed_ci95
    n_scored = round((group.coverage or 0) * group.n_scorable)
    n_cases = interval.n_cases if interval else int(n_scored > 0)
    n_cases = n_cases if group.n_cases is None else group.n_cases
    return [
        model_cell(group),
        number(percent(group.passed_rate), look="lead" if answer and answer.is_leading else ""),
        Cell(limits_of(group.passed_rate, interval), look="n range"),
        number(percent(group.score_strict)),
        number(percent(group.score_available)),
        number(percent(group.coverage)),
        number(whole(n_cases), n_cases),
        number(f"{whole(n_scored)}/{whole(group.n_scorable)}", n_scored),
        number(percent(group.success_rate_ok)),
        number(percent(group.success_rate)),
        number(percent(group.objective_pass_rate)),
        Cell("yes" if answer and answer.is_ranked else "no: too few cases or verdicts"),
    ]


def tiers(summary: RunSummary, bounds: Thresholds) -> Table:
    """Return how reliably each model called the tools it had to; no row: nobody had to."""
    columns = (
        MODEL,
        Column("tools %", "tool_use.rate", is_number=True),
        Column("95 %", "tool_use.ci95"),
        Column("trials", "tool_use.n", is_number=True),
        Column("tier", "tool_use.tier_label"),
        Column("confident", "tool_use.tier_confident"),
    )
    rows = [_tier(group, bounds) for group in summary.models if group.tool_use.n]
    return Table("tiers", "Tool use of each model", columns, rows)


def _tier(group: GroupSummary, bounds: Thresholds) -> list[Cell]:
    tools, edges = group.tool_use, (bounds.tier_1_from, bounds.tier_2_from)
    sure = {None: "", True: "yes", False: "no: the interval leaves the tier"}
    return [
        model_cell(group),
        number(percent(tools.rate, *edges)),
        Cell(limits_of(tools.rate, tools.ci95, *edges), look="n range"),
        number(whole(tools.n), tools.n),
        Cell(tools.tier_label or "unrated"),
        Cell(sure[tools.tier_confident]),
    ]


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


LEADERBOARD = Section(
    "Leaderboard",
    show=lambda report: leaderboard(report.summary, report.answer),
    shows_numbers=lambda report: report.summary.models,
)

TIERS = Section(
    "Tool-use tiers",
    show=lambda report: tiers(report.summary, report.thresholds),
    shows_numbers=lambda report: any(model.tool_use.n for model in report.summary.models),
)

RESOURCES = Section("Resources", show=resources, shows_numbers=lambda report: report.summary.models)

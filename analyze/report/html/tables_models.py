"""Tables with a row a model (rates, times, tool use, cost), and those of the comparison.

The comparison with the baseline has its models, times and costs, and the cases that changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

from analyze.comparison.document import WORDS, by_need, change_cells
from analyze.comparison.render import (
    MODEL_TITLES,
    RATIO_TITLES,
    REPEAT_TITLES,
    SCORE_TITLES,
    TAG_TITLES,
    model_cells,
    ratio_rows,
    repeat_rows,
    score_rows,
    tag_cells,
)
from analyze.render.numbers import BEYOND_LIMIT, limits_of, millis, percent, usd, whole
from analyze.report.html.table import Cell, Column, Table, number, sorts_as
from schemas.config.project import Thresholds
from schemas.errors import counted
from schemas.output.comparison import CaseChange, Comparison
from schemas.output.report import FrontierPoint, ModelAnswer, ModelProvenance
from schemas.output.summary import GroupSummary, PercentileName, Percentiles, RunSummary
from schemas.run.model_names import hidden_id

PERCENTILES: tuple[PercentileName, ...] = get_args(PercentileName)

LAST = 1e300
"""What a time beyond the limit sorts by."""

MODEL = Column("model", "model_id")

TOO_FEW = "Fewer than 5 trials are expected beyond this percentile; it is never compared."

MOST_CHANGES = 100
"""Cases in the table; the command shows the others."""

YES = {None: "cannot be said", True: "yes", False: "no"}

MODEL_KEYS = (
    "model_id", "n_cases", "base_rate", "candidate_rate", "difference", "difference_low",
    "p", "q", "detectable",
)  # fmt: skip

RATIO_KEYS = (
    "model_id", "metric", "n_cases", "ratio", "ratios.low", "q", "totals_ratio",
    "left_out_base", "night", "verdict",
)  # fmt: skip

SCORE_KEYS = ("model_id", "score_strict", "score_available", "coverage", "causes")

REPEAT_KEYS = ("model_id", "k", "pass_at_k", "pass_hat_k")

TAG_KEYS = (
    "name", "model_id", "n_cases", "base_rate", "candidate_rate", "difference", "difference_low",
)  # fmt: skip

TEXTS = {"name", "model_id", "metric", "verdict", "causes", "night", "difference_low", "ratios.low"}
"""Columns that are no numbers."""


def model_cell(group: GroupSummary) -> Cell:
    """Return the name of a model, and how it was asked below."""
    return Cell(group.model_id, below=asked_as(group))


def asked_as(one: GroupSummary | ModelAnswer | ModelProvenance) -> str:
    """Return how a model was asked: `openrouter · vendor/model · thinking high`.

    Where its name does not say its model_id that comes first.
    """
    level = f"thinking {one.thinking_level}" if one.thinking_level else ""
    return " · ".join(filter(None, (hidden_id(one.model_id), one.provider, one.model, level)))


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
        Column("cases", "n_cases", is_number=True),
        Column("verdicts", "n_scorable", is_number=True),
        Column("answered %", "success_rate_ok", is_number=True),
        Column("answered % (all)", "success_rate", is_number=True),
        Column("obj pass %", "objective_pass_rate", is_number=True),
        Column("ranked", "is_ranked"),
    )
    places = {_key(one): place for place, one in enumerate(answers)}
    ranked = {_key(one) for one in answers if one.is_ranked}
    groups = sorted(summary.models, key=lambda one: places.get(_key(one), len(places)))
    rows = [_rates(one, _key(one) in ranked) for one in groups]
    return Table("leaderboard", "Leaderboard: rates of each model", columns, rows)


def _key(one: GroupSummary | ModelAnswer) -> tuple[str | None, ...]:
    return one.provider, one.model, one.thinking_level, one.model_id


def _rates(group: GroupSummary, is_ranked: bool) -> list[Cell]:
    interval = group.passed_ci95
    n_scored = round((group.coverage or 0) * group.n_scorable)
    n_cases = interval.n_cases if interval else int(n_scored > 0)
    n_cases = n_cases if group.n_cases is None else group.n_cases
    return [
        model_cell(group),
        number(percent(group.passed_rate), look="lead"),
        Cell(limits_of(group.passed_rate, interval), look="n range"),
        number(percent(group.score_strict)),
        number(percent(group.score_available)),
        number(percent(group.coverage)),
        number(whole(n_cases), n_cases),
        number(f"{whole(n_scored)}/{whole(group.n_scorable)}", n_scored),
        number(percent(group.success_rate_ok)),
        number(percent(group.success_rate)),
        number(percent(group.objective_pass_rate)),
        Cell("yes" if is_ranked else "no: too few cases or verdicts"),
    ]


def times(summary: RunSummary) -> Table:
    """Return percentiles of both times of each model, in ms."""
    heads = (("", "latency_ms"), ("first token ", "ttft_ms"))
    columns = [MODEL]
    for head, field in heads:
        columns += [
            Column(f"{head}{name} ms", f"{field}.{name}", is_number=True)
            for name in (*PERCENTILES, "mean")
        ]
        columns += [
            Column(f"{head}n", f"{field}.n", is_number=True),
            Column(f"{head}timed out", f"{field}.n_timeouts", is_number=True),
        ]
    rows = [
        [model_cell(group), *_percentiles(group.latency_ms), *_percentiles(group.ttft_ms)]
        for group in summary.models
    ]
    return Table("times", "Times of each model", columns, rows)


def _percentiles(found: Percentiles) -> list[Cell]:
    return [
        *(_percentile(found, name) for name in PERCENTILES),
        number(millis(found.mean)),
        number(whole(found.n), found.n),
        number(whole(found.n_timeouts), found.n_timeouts),
    ]


def _percentile(found: Percentiles, name: PercentileName) -> Cell:
    is_beyond = name in found.beyond_limit
    text = BEYOND_LIMIT if is_beyond else millis(getattr(found, name))
    sort = LAST if is_beyond else getattr(found, name)
    if getattr(found.supported, name) or not text:
        return number(text, sort)
    return Cell(text, sorts_as(text, sort) or text, "n", TOO_FEW, is_unsure=True)


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
        number(percent(tools.rate, *edges), look="lead"),
        Cell(limits_of(tools.rate, tools.ci95, *edges), look="n range"),
        number(whole(tools.n), tools.n),
        Cell(tools.tier_label or "unrated"),
        Cell(sure[tools.tier_confident]),
    ]


def frontier(points: tuple[FrontierPoint, ...]) -> Table:
    """Return what quality costs with each model, in money and in time."""
    columns = (
        MODEL,
        Column("passed %", "passed_rate", is_number=True),
        Column("95 %", "passed_ci95"),
        Column("USD a trial", "cost_usd_per_scored", is_number=True),
        Column("95 % USD", "cost_low"),
        Column("best for its cost", "is_on_frontier"),
        Column("mean ms", "e2e_ms_mean", is_number=True),
        Column("95 % ms", "e2e_ms_low"),
        Column("best for its time", "is_on_time_frontier"),
    )
    rows = [
        [
            Cell(one.model_id),
            number(percent(one.passed_rate), look="lead"),
            Cell(limits_of(one.passed_rate, one), look="n range"),
            number(usd(one.cost_usd_per_scored), one.cost_usd_per_scored),
            _range(one.cost_low, one.cost_high, usd),
            Cell(YES[one.is_on_frontier]),
            number(millis(one.e2e_ms_mean)),
            _range(one.e2e_ms_low, one.e2e_ms_high, millis),
            Cell(YES[one.is_on_time_frontier]),
        ]
        for one in points
    ]
    return Table("frontier", "Quality, cost and time of each model", columns, rows)


def _range(low: float | None, high: float | None, form: Callable[[float | None], str]) -> Cell:
    is_known = low is not None and high is not None
    return Cell(f"[{form(low)}, {form(high)}]" if is_known else "", look="n range")


def compared_models(comparison: Comparison) -> Table:
    """Return the models on both sides, those that need a look first."""
    columns = [*_columns(MODEL_TITLES, MODEL_KEYS), Column("verdict", "verdict")]
    rows = [
        [*_row(model_cells(group), MODEL_KEYS), Cell(WORDS[group.verdict], look=group.verdict)]
        for group in by_need(comparison.groups)
    ]
    return Table("compared", "Each model beside the baseline", columns, rows)


def compared_tables(comparison: Comparison) -> list[Table]:
    """Return what stands below the models, as far as there is something to show in it."""
    groups = by_need(comparison.groups)
    parts = [*filter(None, [comparison.overall]), *comparison.tags]
    tables = (
        ("parts", "All models together, and tags", TAG_TITLES, TAG_KEYS, map(tag_cells, parts)),
        ("scores", "How complete both sides are", SCORE_TITLES, SCORE_KEYS, score_rows(groups)),
        (
            "repeats",
            "Repeated trials on both sides",
            REPEAT_TITLES,
            REPEAT_KEYS,
            repeat_rows(groups),
        ),
        (
            "ratios",
            "Times, tokens and costs over the base's",
            RATIO_TITLES,
            RATIO_KEYS,
            ratio_rows(groups),
        ),
    )
    return [
        Table(name, label, _columns(titles, keys), rows)
        for name, label, titles, keys, texts in tables
        if (rows := [_row(row, keys) for row in texts])
    ]


def _columns(titles: tuple[str, ...], keys: tuple[str, ...]) -> list[Column]:
    return [
        Column(title.replace("%", " %").replace("  ", " "), key, is_number=key not in TEXTS)
        for title, key in zip(titles, keys, strict=True)
    ]


def _row(texts: list[str], keys: tuple[str, ...]) -> list[Cell]:
    return [
        Cell(text, look="n range" if key.endswith("low") else "")
        if key in TEXTS
        else number(text, _number_in(text))
        for text, key in zip(texts, keys, strict=True)
    ]


def _number_in(text: str) -> float | None:
    """Return the number that a cell begins with, to sort by; None where there is none."""
    first = text.replace("→", " ").split()
    digits = first[0].lstrip("<").replace(",", "") if first else ""
    try:
        return float(digits)
    except ValueError:
        return None


def changed_cases(comparison: Comparison, command: str) -> Table | None:
    """Return the cases that went another way, worst first; None where none did."""
    if not comparison.cases:
        return None
    columns = (
        Column("case", "case_id"),
        Column("model", "candidate_model_id"),
        Column("change", "flip"),
        Column("base", "base_passed", is_number=True),
        Column("this run", "candidate_passed", is_number=True),
    )
    n_more = len(comparison.cases) - MOST_CHANGES
    return Table(
        "changes",
        "Cases that changed",
        columns,
        [_change(change) for change in comparison.cases[:MOST_CHANGES]],
        f"{counted(n_more, 'more case')} changed." if n_more > 0 else "",
        command,
    )


def _change(change: CaseChange) -> list[Cell]:
    word, case_id, model_id, base, candidate = change_cells(change)
    base_rate = change.base_passed / change.base_scored
    rate = change.candidate_passed / change.candidate_scored
    return [
        Cell(case_id),
        Cell(model_id),
        Cell(word, look=f"flip-{word}"),
        number(base, base_rate),
        number(candidate, rate),
    ]

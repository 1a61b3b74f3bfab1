"""Tables of the comparison with the baseline: models, times and costs, cases that changed."""

from __future__ import annotations

from analyze.comparison.document import WORDS, by_need, change_cells
from analyze.report.comparison_cells import (
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
from analyze.report.html.table import Cell, Column, Table, number
from schemas.errors import counted
from schemas.output.comparison import CaseChange, Comparison

MOST_CHANGES = 100
"""Cases in the table; the command shows the others."""

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


def compared_models(comparison: Comparison) -> Table:
    """Return the models on both sides, those that need a look first."""
    columns = [*_columns(MODEL_TITLES, MODEL_KEYS), Column("verdict", "verdict")]
    rows = [
        [*_row(model_cells(group), MODEL_KEYS), Cell(WORDS[group.verdict], look=group.verdict)]
        for group in by_need(comparison.groups)
    ]
    return Table("compared", "Each model beside the baseline", columns, rows)


def compared_scores(comparison: Comparison) -> Table | None:
    """Return how complete both sides are; None where no case is on both."""
    rows = [_row(row, SCORE_KEYS) for row in score_rows(by_need(comparison.groups))]
    columns = _columns(SCORE_TITLES, SCORE_KEYS)
    return Table("scores", "How complete both sides are", columns, rows) if rows else None


def compared_ratios(comparison: Comparison) -> Table | None:
    """Return times, tokens and costs over the base's; None where none was measured twice."""
    rows = [_row(row, RATIO_KEYS) for row in ratio_rows(by_need(comparison.groups))]
    columns = _columns(RATIO_TITLES, RATIO_KEYS)
    return (
        Table("ratios", "Times, tokens and costs over the base's", columns, rows) if rows else None
    )


def compared_repeats(comparison: Comparison) -> Table | None:
    """Return what several trials of a case give; None where they were not repeated."""
    rows = [_row(row, REPEAT_KEYS) for row in repeat_rows(by_need(comparison.groups))]
    columns = _columns(REPEAT_TITLES, REPEAT_KEYS)
    return Table("repeats", "Repeated trials on both sides", columns, rows) if rows else None


def compared_parts(comparison: Comparison) -> Table | None:
    """Return all models together and every tag, without a verdict; None where neither is."""
    parts = [*filter(None, [comparison.overall]), *comparison.tags]
    rows = [_row(tag_cells(part), TAG_KEYS) for part in parts]
    columns = _columns(TAG_TITLES, TAG_KEYS)
    return Table("parts", "All models together, and tags", columns, rows) if rows else None


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

"""The run beside its baseline: models, times and costs, cases that changed and their answers."""

from __future__ import annotations

from analyze.comparison import document, render
from analyze.render.numbers import whole
from analyze.report.markdown_text import command_text, plain, table_lines
from analyze.report.sections import Section
from analyze.report.sentences import command_of
from analyze.report.table import Cell, Column, Table, anchors_by_place, number
from schemas.errors import counted
from schemas.output.comparison import CaseChange, Comparison
from schemas.output.report import RunReport

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

MOST_CHANGES = 100
"""Cases in the table; the command shows the others."""

MOST_OPEN = 6
"""Models of a comparison; those after them are folded, unless something happened to them."""

QUIET = frozenset({"inconclusive", "unchanged"})

FLIP_TITLES = ("flip", "case", "model", "baseline", "this run", "both answers")


def compared_models(comparison: Comparison) -> Table:
    """Return the models on both sides, those that need a look first."""
    columns = [*_columns(render.MODEL_TITLES, MODEL_KEYS), Column("verdict", "verdict")]
    rows = [
        [
            *_row(render.model_cells(group), MODEL_KEYS),
            Cell(document.WORDS[group.verdict], look=group.verdict),
        ]
        for group in document.by_need(comparison.groups)
    ]
    return Table("compared", "Each model beside the baseline", columns, rows)


def compared_tables(comparison: Comparison) -> list[Table]:
    """Return what stands below the models, as far as there is something to show in it."""
    groups = document.by_need(comparison.groups)
    parts = [*filter(None, [comparison.overall]), *comparison.tags]
    tables = (
        (
            "parts",
            "All models together, and tags",
            render.TAG_TITLES,
            TAG_KEYS,
            map(render.tag_cells, parts),
        ),
        (
            "scores",
            "How complete both sides are",
            render.SCORE_TITLES,
            SCORE_KEYS,
            render.score_rows(groups),
        ),
        (
            "repeats",
            "Repeated trials on both sides",
            render.REPEAT_TITLES,
            REPEAT_KEYS,
            render.repeat_rows(groups),
        ),
        (
            "ratios",
            "Times, tokens and costs over the base's",
            render.RATIO_TITLES,
            RATIO_KEYS,
            render.ratio_rows(groups),
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
    word, case_id, model_id, base, candidate = document.change_cells(change)
    base_rate = change.base_passed / change.base_scored
    rate = change.candidate_passed / change.candidate_scored
    return [
        Cell(case_id),
        Cell(model_id),
        Cell(word, look=f"flip-{word}"),
        number(base, base_rate),
        number(candidate, rate),
    ]


def _parts(report: RunReport) -> dict[str, object] | None:
    comparison = report.comparison
    if comparison is None:
        return None
    models = [
        (group.verdict, document.headline(group), list(document.notes_of(group)))
        for group in document.by_need(comparison.groups)
    ]
    n_open = max(MOST_OPEN, sum(verdict not in QUIET for verdict, _, _ in models))
    return {
        "models": models[:n_open],
        "folded": models[n_open:],
        "table": compared_models(comparison),
        "tables": compared_tables(comparison),
        "changes": changed_cases(comparison, command_of(report, "compare")),
        "differs": list(document.axis_lines(comparison)),
        "excluded": [*document.excluded_lines(comparison.excluded), *comparison.unmatched],
        "limits": document.limits_line(comparison.limits),
        "flips": report.flips,
        "anchors": anchors_by_place(report.transcripts.shown),
    }


def _flips(report: RunReport) -> list[str]:
    """Return the cases whose majority changed, with the commands that show both answers."""
    rows = [
        [
            flip.flip,
            plain(flip.case_id),
            plain(flip.candidate_model_id),
            f"{whole(flip.base_passed)} of {whole(flip.base_scored)}",
            f"{whole(flip.candidate_passed)} of {whole(flip.candidate_scored)}",
            "; ".join(filter(None, map(command_text, flip.commands))).replace("|", r"\|"),
        ]
        for flip in report.flips
    ]
    if not rows:
        return []
    cases = report.comparison.cases if report.comparison else ()
    n_unseen = sum(case.flip is not None for case in cases) - len(rows)
    more = ["", f"and {whole(n_unseen)} more"] if n_unseen > 0 else []
    return ["## Flipped cases", "", *table_lines(FLIP_TITLES, rows), *more]


COMPARISON = Section("Against the baseline", show=_parts, markdown=lambda report: [_flips(report)])

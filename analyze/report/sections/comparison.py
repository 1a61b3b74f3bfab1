"""The run beside its baseline: models, times and costs, cases that changed and their answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from analyze.comparison import document, render
from analyze.render.numbers import whole
from analyze.report.markdown_text import command_text, plain, table_lines
from analyze.report.sections import Section
from analyze.report.sentences import command_of
from analyze.report.table import Cell, Column, Table, anchors_by_place, number
from schemas.errors import counted
from schemas.output.comparison import CaseChange, Comparison
from schemas.output.report import RunReport

MODELS = dict(zip(render.MODEL_TITLES, (
    "model_id", "n_cases", "base_rate", "candidate_rate", "difference", "difference_low",
    "p", "q", "detectable",
), strict=True))  # fmt: skip
"""Title to field, here and below."""

RATIOS = dict(zip(render.RATIO_TITLES, (
    "model_id", "metric", "n_cases", "ratio", "ratios.low", "q", "totals_ratio",
    "left_out_base", "night", "verdict",
), strict=True))  # fmt: skip

JUDGED = dict(zip(render.JUDGED_TITLES, (
    "model_id", "evaluation_profile_id", "n_cases", "base_score", "candidate_score",
    "score_difference", "scores.low", "q", "verdict",
), strict=True))  # fmt: skip

SCORES = dict(zip(render.SCORE_TITLES, (
    "model_id", "score_strict", "score_available", "coverage", "causes",
), strict=True))  # fmt: skip

REPEATS = dict(zip(render.REPEAT_TITLES, ("model_id", "k", "pass_at_k", "pass_hat_k"), strict=True))

TAGS = dict(zip(render.TAG_TITLES, (
    "name", "model_id", "n_cases", "base_rate", "candidate_rate", "difference", "difference_low",
), strict=True))  # fmt: skip

TEXTS = {
    *("name", "model_id", "evaluation_profile_id", "metric", "verdict", "causes", "night"),
    *("difference_low", "ratios.low", "scores.low"),
}
"""Columns that are no numbers."""

MAX_CHANGES = 100
"""Cases in the table; the command shows the others."""

MAX_OPEN_MODELS = 6
"""Models of a comparison; those after them are folded, unless something happened to them."""

QUIET = frozenset({"inconclusive", "unchanged"})

FLIP_TITLES = ("flip", "case", "model", "baseline", "this run", "both answers")


def compared_models(comparison: Comparison) -> Table:
    """Return the models on both sides, those that need a look first."""
    groups = document.by_need(comparison.groups)
    found = _table(
        "compared", "Each model beside the baseline", MODELS, map(render.model_cells, groups)
    )
    verdicts = [Cell(document.WORDS[group.verdict], look=group.verdict) for group in groups]
    rows = [[*row, verdict] for row, verdict in zip(found.rows, verdicts, strict=True)]
    return replace(found, columns=[*found.columns, Column("verdict", "verdict")], rows=rows)


def compared_tables(comparison: Comparison) -> list[Table]:
    """Return what stands below the models, as far as there is something to show in it."""
    groups = document.by_need(comparison.groups)
    parts = [*filter(None, [comparison.overall]), *comparison.tags]
    tables = (
        _table("parts", "All models together, and tags", TAGS, map(render.tag_cells, parts)),
        _table("scores", "How complete both sides are", SCORES, render.score_rows(groups)),
        _table("repeats", "Repeated trials on both sides", REPEATS, render.repeat_rows(groups)),
        _table(
            "ratios", "Times, tokens and costs over the base's", RATIOS, render.ratio_rows(groups)
        ),
        _table("judged-differences", "Scores of judges", JUDGED, render.judged_rows(groups)),
    )
    return [table for table in tables if table.rows]


def _table(name: str, label: str, keys: Mapping[str, str], texts: Iterable[list[str]]) -> Table:
    """Return a table of cells that a terminal would show, with the field of each title."""
    columns = [
        Column(title.replace("%", " %").replace("  ", " "), key, is_number=key not in TEXTS)
        for title, key in keys.items()
    ]
    return Table(name, label, columns, [list(map(_cell, row, keys.values())) for row in texts])


def _cell(text: str, key: str) -> Cell:
    if key in TEXTS:
        return Cell(text, look="n range" if key.endswith("low") else "")
    return number(text, _number_in(text))


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
    rows = [_change(change) for change in comparison.cases[:MAX_CHANGES]]
    n_more = len(comparison.cases) - MAX_CHANGES
    more = f"{counted(n_more, 'more case')} changed." if n_more > 0 else ""
    return Table("changes", "Cases that changed", columns, rows, more, command)


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
    n_open = max(MAX_OPEN_MODELS, sum(verdict not in QUIET for verdict, _, _ in models))
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

"""A comparison as Markdown: the same sentences and tables, names from outside as text only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyze.aliases.render import rename_lines
from analyze.comparison.document import (
    CHANGE_TITLES,
    axis_lines,
    by_need,
    change_cells,
    excluded_lines,
    headline,
    limits_line,
    notes_of,
    side_of,
)
from analyze.comparison.render import MOST_CASES
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
from analyze.summary.summary_table import as_text
from schemas.output.comparison import CaseChange, Comparison


def comparison_markdown(comparison: Comparison, *, all_cases: bool = False) -> str:
    """Return a comparison as Markdown.

    Args:
        comparison: what to tell.
        all_cases: list every case that changed.
    """
    groups = by_need(comparison.groups)
    plain = [*([comparison.overall] if comparison.overall else []), *comparison.tags]
    cases = comparison.cases if all_cases else comparison.cases[:MOST_CASES]
    blocks = [
        ["# Comparison"],
        list(_verdicts_listed(comparison)),
        list(_sides_listed(comparison)),
        markdown_table(MODEL_TITLES, [model_cells(group) for group in groups]),
        markdown_table(SCORE_TITLES, score_rows(groups)),
        markdown_table(REPEAT_TITLES, repeat_rows(groups)),
        markdown_table(RATIO_TITLES, ratio_rows(groups)),
        markdown_table(TAG_TITLES, [tag_cells(one) for one in plain]),
        cases_markdown(cases, len(comparison.cases)),
        [as_text(f"Limits: {limits_line(comparison.limits)}")],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def markdown_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table of cells from outside; nothing at all without rows."""
    if not rows:
        return []
    lines = [titles, ["---"] * len(titles), *([as_text(cell) for cell in row] for row in rows)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def cases_markdown(cases: Sequence[CaseChange], n_all: int) -> list[str]:
    """Return a table of cases that changed, with the commands that show both answers.

    Args:
        cases: those to show.
        n_all: how many changed.
    """
    if not cases:
        return []
    rows = [[*change_cells(case), "; ".join(case.commands)] for case in cases]
    more = [f"and {n_all - len(cases):,} more"] if n_all > len(cases) else []
    lines = markdown_table((*CHANGE_TITLES, "both answers"), rows)
    return [*lines, *(["", *more] if more else [])]


def _verdicts_listed(comparison: Comparison) -> Iterator[str]:
    if not comparison.groups:
        yield "nothing to compare: no model is on both sides"
    if comparison.next_command is not None:
        yield f"- two models are compared by {as_text(comparison.next_command)}"
    for group in by_need(comparison.groups):
        yield f"- **{as_text(headline(group).replace(' -> ', ' → '))}**"
        yield from (f"  - {as_text(note)}" for note in notes_of(group))


def _sides_listed(comparison: Comparison) -> Iterator[str]:
    yield f"- base: {as_text(side_of(comparison.base))}"
    yield f"- candidate: {as_text(side_of(comparison.candidate))}"
    differ = list(axis_lines(comparison))
    if comparison.groups and not differ:
        yield "- nothing that is known to change an answer differs"
    yield from (f"- {as_text(line)}" for line in differ)
    for line in excluded_lines(comparison.excluded):
        yield f"- not in the test: {as_text(line)}"
    for line in (*comparison.unmatched, *rename_lines(comparison.renames)):
        yield f"- {as_text(line)}"

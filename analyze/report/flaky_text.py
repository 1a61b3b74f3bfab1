"""How flaky cells are, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from analyze.comparison.document import limits_line
from analyze.regressions.render import wrapped
from analyze.render.numbers import percent, percent_range, whole
from analyze.render.text import Column, line_of, table
from analyze.report.comparison_markdown import markdown_table
from analyze.summary.summary_table import as_text
from schemas.errors import counted
from schemas.output.regressions import Flaky, FlakyCell

MOST_CELLS = 20
"""Flaky cells that are listed unless all cells are asked for."""

COLUMNS = (
    Column("suite", least=8, is_name=True),
    Column("model", least=8, is_name=True),
    Column("case", least=12, is_name=True),
    Column("passed", "right"),
    Column("flip%", "right"),
    Column("95 %"),
    Column(""),
    Column("worse since", least=10, is_name=True),
)

NONE = (
    "no case has a trial that counts yet, one with a verdict on a case whose content is known: "
    "make runs with `collect run`"
)

MEANING = (
    "flip%: chance that two trials of a case disagree although nothing changed, over its newest "
    "trials since it last shifted, at most 50. flaky: surely 10 % or more. steady: surely less. "
    "unknown: too few trials to say. (known): quarantined."
)


def flaky_lines(found: Flaky, width: int, *, is_all: bool = False) -> list[str]:
    """Return the cells as lines.

    Args:
        found: what to tell.
        width: columns of the terminal.
        is_all: list every cell, not the flaky ones alone.
    """
    lines = wrapped(flaky_summary(found), width)
    shown = _shown(found, is_all=is_all)
    if shown:
        rows = [[line_of(cell) for cell in _row(one)] for one in shown]
        lines += ["", *table(COLUMNS, rows, width)]
    lines += _more_cells(found, shown, is_all=is_all)
    if not found.n_cells:
        return lines
    limits = wrapped(f"limits: {limits_line(found.limits)}", width)
    return [*lines, "", *wrapped(MEANING, width), "", *limits]


def flaky_markdown(found: Flaky, *, is_all: bool = False) -> str:
    """Return the cells as Markdown."""
    shown = _shown(found, is_all=is_all)
    titles = [column.title for column in COLUMNS]
    blocks = [
        ["# Flaky cases"],
        [as_text(flaky_summary(found))],
        markdown_table(titles, [_row(one) for one in shown]),
        _more_cells(found, shown, is_all=is_all),
        [as_text(MEANING)],
        [as_text(f"Limits: {limits_line(found.limits)}")],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def flaky_summary(found: Flaky) -> str:
    """Return how many cells there are of each kind, in one sentence."""
    if not found.n_cells:
        return NONE
    return (
        f"{counted(found.n_cells, 'cell')} (a case with a model): {whole(found.n_flaky)} flaky, "
        f"{whole(found.n_steady)} steady, {whole(found.n_unknown)} unknown"
    )


def _shown(found: Flaky, *, is_all: bool) -> Sequence[FlakyCell]:
    flaky = [cell for cell in found.cells if cell.steadiness == "flaky"]
    return found.cells if is_all else flaky[:MOST_CELLS]


def _more_cells(found: Flaky, shown: Sequence[FlakyCell], *, is_all: bool) -> list[str]:
    more = found.n_flaky - len(shown)
    if is_all or more <= 0:
        return []
    return [f"and {whole(more)} more flaky ones: --all lists every cell"]


def _row(cell: FlakyCell) -> list[str]:
    limits = "" if cell.low is None or cell.high is None else percent_range(cell.low, cell.high)
    known = " (known)" if cell.quarantined else ""
    return [
        cell.suite_id,
        cell.model_id,
        cell.case_id,
        f"{whole(cell.n_passed)}/{whole(cell.n_trials)}",
        percent(cell.flip_rate),
        limits,
        f"{cell.steadiness}{known}",
        cell.first_bad_run or "",
    ]

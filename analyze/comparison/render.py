"""A comparison for the terminal: what happened first, then why it can be said, then the details."""

from __future__ import annotations

import textwrap
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
from analyze.render.text import UNLIMITED, Column, cells, facts, least_width, line_of, table
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
from schemas.output.comparison import CaseChange, Comparison, PlainDifference

MOST_CASES = 20
"""Cases that are listed unless all are asked for."""

LEAST_WRAP = 40
"""Columns below which sentences are no longer broken."""

CUT = {"model": 8, "case": 12, "part": 6, "without a verdict": 12}
"""Columns that can be cut, and the fewest cells that are left of them."""

NAMES = {"model", "case", "part"}

WORDY = {*CUT, "of", "95 %", "change", "verdict", "both answers", "nights"}


def comparison_lines(comparison: Comparison, width: int, *, all_cases: bool = False) -> list[str]:
    """Return a comparison as lines.

    Args:
        comparison: what to tell.
        width: columns of the terminal; sentences are broken there.
        all_cases: list every case that changed.
    """
    groups = by_need(comparison.groups)
    blocks = [
        list(_verdicts(comparison, width)),
        list(_sides(comparison, width)),
        _table(MODEL_TITLES, [model_cells(group) for group in groups], width, spare=("p",)),
        _table(SCORE_TITLES, score_rows(groups), width),
        _table(REPEAT_TITLES, repeat_rows(groups), width),
        _table(RATIO_TITLES, ratio_rows(groups), width, spare=("nights", "cases", "totals")),
        _table(TAG_TITLES, [tag_cells(plain) for plain in _plain(comparison)], width),
        list(_cases(comparison.cases, width, all_cases=all_cases)),
        list(_wrapped(f"limits: {limits_line(comparison.limits)}", width)),
    ]
    lines: list[str] = []
    for block in blocks:
        lines += ["", *block] if lines and block else block
    return lines


def _verdicts(comparison: Comparison, width: int) -> Iterator[str]:
    """Yield a line a model, and below it what belongs to its verdict."""
    if not comparison.groups:
        yield "nothing to compare: no model is on both sides"
    if comparison.next_command is not None:
        yield "two models are compared by"
        yield f"  {line_of(comparison.next_command)}"
    for group in by_need(comparison.groups):
        yield from _wrapped(headline(group), width)
        for note in notes_of(group):
            yield from _wrapped(note, width, "  ")


def _sides(comparison: Comparison, width: int) -> Iterator[str]:
    """Yield what was compared, what differs between the sides, and what is not in the test."""
    yield from facts(
        [
            ("base", line_of(side_of(comparison.base))),
            ("candidate", line_of(side_of(comparison.candidate))),
        ]
    )
    differ = list(axis_lines(comparison))
    if comparison.groups and not differ:
        yield "nothing that is known to change an answer differs"
    for line in differ:
        yield from _wrapped(line, width)
    for line in excluded_lines(comparison.excluded):
        yield from _wrapped(f"not in the test: {line}", width)
    for line in (*comparison.unmatched, *rename_lines(comparison.renames)):
        yield from _wrapped(line, width)


def _plain(comparison: Comparison) -> list[PlainDifference]:
    return [*([comparison.overall] if comparison.overall else []), *comparison.tags]


def _cases(cases: Sequence[CaseChange], width: int, *, all_cases: bool) -> Iterator[str]:
    """Yield the cases that changed: each with the commands that show both answers, if they fit."""
    shown = cases if all_cases else cases[:MOST_CASES]
    if not shown:
        return
    rows = [[*change_cells(case), " && ".join(case.commands)] for case in shown]
    whole_lines = _table((*CHANGE_TITLES, "both answers"), rows, UNLIMITED)
    if max(map(cells, whole_lines)) <= width:
        yield from whole_lines
    else:
        yield from _table(CHANGE_TITLES, [row[:-1] for row in rows], width)
    if more := len(cases) - len(shown):
        yield f"and {more:,} more: --by cell lists all"
    if max(map(cells, whole_lines)) > width:
        yield "both answers of the first, and so of every other:"
        yield from (f"  {line_of(command)}" for command in shown[0].commands)


def _table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    spare: Sequence[str] = (),
) -> list[str]:
    """Return a table; of its columns those to spare are left out, in order, until it fits."""
    if not rows:
        return []
    columns = [
        Column(title, "left" if title in WORDY else "right", CUT.get(title), title in NAMES)
        for title in titles
    ]
    shown = [[line_of(cell) for cell in row] for row in rows]
    if spare and least_width(columns, shown) > width:
        gone = titles.index(spare[0])
        kept = [[cell for n, cell in enumerate(row) if n != gone] for row in (titles, *rows)]
        return _table(kept[0], kept[1:], width, spare[1:])
    return table(columns, shown, width)


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    safe = line_of(text)
    if width < LEAST_WRAP:
        return [indent + safe]
    return textwrap.wrap(
        safe,
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )

"""A comparison for the terminal and as Markdown: the same sentences, and the same tables as cells.

What happened comes first, then why it can be said, then the details. Cells hold names from outside
as they are: who prints them makes them safe for the place, in Markdown as text only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from analyze.aliases import rename_lines
from analyze.comparison.document import (
    CHANGE_TITLES,
    RATIO_NAMES,
    axis_lines,
    between,
    by_need,
    change_cells,
    excluded_lines,
    headline,
    limits_line,
    name_of,
    nights_cell,
    notes_of,
    ratio_word,
    side_of,
)
from analyze.comparison.verdict import cause_counts
from analyze.render.numbers import DASH, chance, pair, percent, points, signed_points, times, whole
from analyze.render.text import (
    UNLIMITED,
    Column,
    cells,
    facts,
    least_width,
    line_of,
    markdown_rows,
    table,
    wrapped,
)
from analyze.summary.summary_table import as_text
from schemas.output.comparison import (
    CaseChange,
    Comparison,
    GroupComparison,
    PlainDifference,
    Ratio,
)

MODEL_TITLES = ("model", "cases", "base%", "cand%", "points", "95 %", "p", "q", "shows")

MOST_CASES = 20
"""Cases that are listed unless all are asked for."""

CUT = {"model": 8, "case": 12, "part": 6, "without a verdict": 12}
"""Columns that can be cut, and the fewest cells that are left of them."""

NAMES = {"model", "case", "part"}

WORDY = {*CUT, "of", "95 %", "change", "verdict", "both answers", "nights"}


def model_cells(group: GroupComparison) -> list[str]:
    """Return the row of one model under MODEL_TITLES; rates only where they are comparable."""
    difference = group.difference
    n_cases = difference.n_cases if difference else min(group.base.n_cases, group.candidate.n_cases)
    head = [name_of(group), whole(n_cases)]
    if group.verdict == "not_comparable":
        return [*head, *[DASH] * 7]
    if difference is None:
        rates = [percent(group.base.passed_rate), percent(group.candidate.passed_rate)]
        return [*head, *rates, *[DASH] * 5]
    return [
        *head,
        percent(difference.base_rate),
        percent(difference.candidate_rate),
        signed_points(difference.difference),
        between(difference.low, difference.high),
        chance(difference.p),
        chance(difference.q),
        points(difference.detectable),
    ]


SCORE_TITLES = ("model", "strict%", "available%", "cover%", "without a verdict")


def score_rows(groups: Sequence[GroupComparison]) -> list[list[str]]:
    """Return a row under SCORE_TITLES for each model with a case on both sides."""
    sides = [(group, group.base, group.candidate) for group in groups if group.base.n_cases]
    return [
        [
            name_of(group),
            pair(percent(base.score_strict), percent(candidate.score_strict)),
            pair(percent(base.score_available), percent(candidate.score_available)),
            pair(percent(base.coverage), percent(candidate.coverage)),
            pair(cause_counts(base.causes), cause_counts(candidate.causes)),
        ]
        for group, base, candidate in sides
    ]


REPEAT_TITLES = ("model", "k", "pass@k", "pass^k")


def repeat_rows(groups: Sequence[GroupComparison]) -> list[list[str]]:
    """Return a row under REPEAT_TITLES for each model whose cases were repeated on both sides."""
    return [row for group in groups if (row := _repeat_cells(group))]


def _repeat_cells(group: GroupComparison) -> list[str]:
    """Return the row at the most trials k that both sides have; nothing below two (S21)."""
    sides = group.base, group.candidate
    any_of = [{one.k: one.value for one in side.pass_at_k} for side in sides]
    all_of = [{one.k: one.value for one in side.pass_hat_k} for side in sides]
    k = max(any_of[0].keys() & any_of[1].keys(), default=1)
    if k == 1 or group.verdict == "not_comparable":
        return []
    rates = [pair(*(percent(curve[k]) for curve in curves)) for curves in (any_of, all_of)]
    return [name_of(group), whole(k), *rates]


RATIO_TITLES = ("model", "of", "cases", "ratio", "95 %", "q", "totals", "out%", "nights", "verdict")


def ratio_rows(groups: Sequence[GroupComparison]) -> list[list[str]]:
    """Return a row under RATIO_TITLES for each ratio that was measured on both sides."""
    return [
        _ratio_cells(group, ratio) for group in groups for ratio in group.ratios if ratio.n_cases
    ]


def _ratio_cells(group: GroupComparison, ratio: Ratio) -> list[str]:
    interval = (
        ""
        if ratio.low is None or ratio.high is None
        else f"{times(ratio.low)} to {times(ratio.high)}"
    )
    return [
        name_of(group),
        RATIO_NAMES[ratio.metric],
        whole(ratio.n_cases),
        times(ratio.ratio),
        interval,
        chance(ratio.q),
        times(ratio.totals_ratio),
        pair(percent(ratio.left_out_base), percent(ratio.left_out_candidate)),
        "" if ratio.night is None else nights_cell(ratio.night),
        ratio_word(ratio),
    ]


TAG_TITLES = ("part", "model", "cases", "base%", "cand%", "points", "95 %")


def tag_cells(plain: PlainDifference) -> list[str]:
    """Return the row of a tag, or of all models together, under TAG_TITLES."""
    return [
        plain.name,
        plain.model_id or "all",
        whole(plain.n_cases),
        percent(plain.base_rate),
        percent(plain.candidate_rate),
        signed_points(plain.difference),
        between(plain.low, plain.high),
    ]


def comparison_lines(comparison: Comparison, width: int, *, all_cases: bool = False) -> list[str]:
    """Return a comparison as lines of a width, on demand with every case that changed."""
    blocks = [
        list(_verdicts(comparison, width)),
        list(_sides(comparison, width)),
        *(_table(titles, rows, width, spare) for titles, rows, spare in _tables(comparison)),
        list(_cases(comparison.cases, width, all_cases=all_cases)),
        list(wrapped(f"limits: {limits_line(comparison.limits)}", width)),
    ]
    return spaced(blocks)


def _verdicts(comparison: Comparison, width: int) -> Iterator[str]:
    """Yield a line a model, and below it what belongs to its verdict."""
    if not comparison.groups:
        yield "nothing to compare: no model is on both sides"
    if comparison.next_command is not None:
        yield "two models are compared by"
        yield f"  {line_of(comparison.next_command)}"
    for group in by_need(comparison.groups):
        yield from wrapped(headline(group), width)
        for note in notes_of(group):
            yield from wrapped(note, width, "  ")


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
        yield from wrapped(line, width)
    for line in excluded_lines(comparison.excluded):
        yield from wrapped(f"not in the test: {line}", width)
    for line in (*comparison.unmatched, *rename_lines(comparison.renames)):
        yield from wrapped(line, width)


def _tables(
    comparison: Comparison,
) -> Iterator[tuple[Sequence[str], list[list[str]], Sequence[str]]]:
    """Yield titles and rows of each table, and the columns that it can spare, in order."""
    groups = by_need(comparison.groups)
    yield MODEL_TITLES, [model_cells(group) for group in groups], ("p",)
    yield SCORE_TITLES, score_rows(groups), ()
    yield REPEAT_TITLES, repeat_rows(groups), ()
    yield RATIO_TITLES, ratio_rows(groups), ("nights", "cases", "totals")
    plain = [*([comparison.overall] if comparison.overall else []), *comparison.tags]
    yield TAG_TITLES, [tag_cells(one) for one in plain], ()


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
    titles: Sequence[str], rows: Sequence[Sequence[str]], width: int, spare: Sequence[str] = ()
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


def comparison_markdown(comparison: Comparison, *, all_cases: bool = False) -> str:
    """Return a comparison as Markdown, on demand with every case that changed."""
    cases = comparison.cases if all_cases else comparison.cases[:MOST_CASES]
    blocks = [
        ["# Comparison"],
        list(_verdicts_listed(comparison)),
        list(_sides_listed(comparison)),
        *(markdown_table(titles, rows) for titles, rows, _ in _tables(comparison)),
        cases_markdown(cases, len(comparison.cases)),
        [as_text(f"Limits: {limits_line(comparison.limits)}")],
    ]
    return markdown_text(blocks)


def markdown_text(blocks: Iterable[Sequence[str]]) -> str:
    """Return blocks of lines with an empty line between; a block without lines is none."""
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def spaced(blocks: Iterable[Sequence[str]]) -> list[str]:
    """Return the same as lines of a terminal."""
    lines: list[str] = []
    for block in blocks:
        lines += ["", *block] if lines and block else block
    return lines


def markdown_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table of cells from outside; nothing at all without rows."""
    return markdown_rows(titles, [[as_text(cell) for cell in row] for row in rows])


def cases_markdown(cases: Sequence[CaseChange], n_all: int) -> list[str]:
    """Return a table of changed cases (of `n_all`), with the commands that show both answers."""
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

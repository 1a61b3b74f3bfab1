"""A comparison as a document, and its tables as cells.

What happened comes first, then why it can be said, then the details.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from analyze.aliases import rename_lines
from analyze.comparison import document
from analyze.comparison.verdict import cause_counts
from analyze.render.document import Document, Facts, Fitted, Item, Items, Section, Table, paragraph
from analyze.render.numbers import (
    DASH,
    chance,
    pair,
    percent,
    points,
    score,
    signed_points,
    signed_score,
    times,
    whole,
)
from analyze.render.text import Column, line_of, widths_fit
from schemas.output.comparison import (
    CaseChange,
    Comparison,
    GroupComparison,
    PlainDifference,
    Ratio,
    ScoreDifference,
)

MODEL_TITLES = ("model", "cases", "base%", "cand%", "points", "95 %", "p", "q", "shows")

SHOWN_TITLES = (*document.CHANGE_TITLES, "both answers")

MAX_CASES = 20
"""Cases that are listed unless all are asked for."""

CUT = {"model": 8, "case": 12, "part": 6, "without a verdict": 12}
"""Columns that can be cut, and the fewest cells that are left of them."""

NAMES = {"model", "case", "part"}

WORDY = {*CUT, "of", "95 %", "change", "verdict", "judged by", "both answers", "nights"}


def model_cells(group: GroupComparison) -> list[str]:
    """Return the row of one model under MODEL_TITLES; rates only where they are comparable."""
    difference = group.difference
    n_cases = difference.n_cases if difference else min(group.base.n_cases, group.candidate.n_cases)
    head = [document.name_of(group), whole(n_cases)]
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
        document.between(difference.low, difference.high),
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
            document.name_of(group),
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
    return [document.name_of(group), whole(k), *rates]


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
        document.name_of(group),
        document.RATIO_NAMES[ratio.metric],
        whole(ratio.n_cases),
        times(ratio.ratio),
        interval,
        chance(ratio.q),
        times(ratio.totals_ratio),
        pair(percent(ratio.left_out_base), percent(ratio.left_out_candidate)),
        "" if ratio.night is None else document.nights_cell(ratio.night),
        document.ratio_word(ratio),
    ]


JUDGED_TITLES = (
    *("model", "judged by", "cases", "base", "cand"),
    *("difference", "95 %", "q", "verdict"),
)


def judged_rows(groups: Sequence[GroupComparison]) -> list[list[str]]:
    """Return a row under JUDGED_TITLES for each evaluation profile with scores on both sides."""
    return [_judged_cells(group, one) for group in groups for one in group.scores]


def _judged_cells(group: GroupComparison, found: ScoreDifference) -> list[str]:
    return [
        document.name_of(group),
        found.evaluation_profile_id,
        whole(found.n_cases),
        score(found.base_score),
        score(found.candidate_score),
        signed_score(found.difference),
        document.score_limits(found),
        chance(found.q),
        document.score_word(found),
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
        document.between(plain.low, plain.high),
    ]


def comparison_document(comparison: Comparison, *, all_cases: bool = False) -> Document:
    """Return a comparison as a document, on demand with every case that changed."""
    groups = document.by_need(comparison.groups)
    verdicts = [
        Item(document.headline(one), list(document.notes_of(one)), is_strong=True) for one in groups
    ]
    none = "" if groups else "nothing to compare: no model is on both sides"
    cases = comparison.cases if all_cases else comparison.cases[:MAX_CASES]
    sides = [("base", comparison.base), ("candidate", comparison.candidate)]
    facts = Facts([(name, document.side_of(side)) for name, side in sides])
    return Document(
        "Comparison",
        [
            Section([none, Items([*_next(comparison), *verdicts])]),
            Section([facts, Items(list(_differences(comparison)))]),
            *(Section([one]) for one in _tables(comparison)),
            Section([Fitted(partial(_cases, cases, len(comparison.cases)))]),
            cases_section(cases, len(comparison.cases)),
            paragraph(document.limits_line(comparison.limits), "limits"),
        ],
    )


def _next(comparison: Comparison) -> list[Item]:
    command = comparison.next_command
    title = "two models are compared by"
    return [] if command is None else [Item(title, commands=[command], joint=" ")]


def _differences(comparison: Comparison) -> Iterator[str]:
    """Yield what differs between the sides, and what is not in the test."""
    differ = list(document.axis_lines(comparison))
    if comparison.groups and not differ:
        yield "nothing that is known to change an answer differs"
    yield from differ
    yield from (f"not in the test: {line}" for line in document.excluded_lines(comparison.excluded))
    yield from comparison.unmatched
    yield from rename_lines(comparison.renames)


def _tables(comparison: Comparison) -> Iterator[Table]:
    groups = document.by_need(comparison.groups)
    yield table_of(MODEL_TITLES, [model_cells(group) for group in groups], ("p",))
    yield table_of(SCORE_TITLES, score_rows(groups))
    yield table_of(REPEAT_TITLES, repeat_rows(groups))
    yield table_of(RATIO_TITLES, ratio_rows(groups), ("nights", "cases", "totals"))
    yield table_of(JUDGED_TITLES, judged_rows(groups), ("cases",))
    plain = [*([comparison.overall] if comparison.overall else []), *comparison.tags]
    yield table_of(TAG_TITLES, [tag_cells(one) for one in plain])


def table_of(
    titles: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str] = ()
) -> Table:
    """Return a table under titles of this file, with the columns that it can spare, in order."""
    columns = [
        Column(title, "left" if title in WORDY else "right", CUT.get(title), title in NAMES)
        for title in titles
    ]
    return Table(columns, rows, spare)


def _cases(cases: Sequence[CaseChange], n_all: int, width: int) -> Iterator[Table | Items | str]:
    """Yield the cases that changed: each with the commands that show both answers, if they fit."""
    if not cases:
        return
    rows = [[*document.change_cells(case), " && ".join(case.commands)] for case in cases]
    full = table_of(SHOWN_TITLES, rows)
    is_fit = widths_fit(full.columns, [[line_of(cell) for cell in row] for row in rows], width)
    yield full if is_fit else table_of(document.CHANGE_TITLES, [row[:-1] for row in rows])
    if more := n_all - len(cases):
        yield f"and {more:,} more: --by cell lists all"
    if not is_fit:
        title = "both answers of the first, and so of every other:"
        yield Items([Item(title, commands=cases[0].commands)])


def cases_section(cases: Sequence[CaseChange], n_all: int, *lead: str, title: str = "") -> Section:
    """Return changed cases (of `n_all`) for a page, with the commands that show both answers."""
    rows = [[*document.change_cells(case), "; ".join(case.commands)] for case in cases]
    more = [f"and {n_all - len(cases):,} more"] if n_all > len(cases) else []
    return Section([*lead, table_of(SHOWN_TITLES, rows), *more], title, "page")

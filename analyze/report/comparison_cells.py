"""The tables of a comparison as cells, for the terminal and for Markdown alike.

Cells hold names from outside as they are: who prints them makes them safe for the place.
"""

from __future__ import annotations

from collections.abc import Sequence

from analyze.comparison.document import RATIO_NAMES, between, name_of, ratio_word
from analyze.render.numbers import DASH, chance, pair, percent, points, signed_points, times, whole
from analyze.report.nights_words import nights_cell
from schemas.output.comparison import GroupComparison, PlainDifference, Ratio

MODEL_TITLES = ("model", "cases", "base%", "cand%", "points", "95 %", "p", "q", "shows")


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
    return [score_cells(group) for group in groups if group.base.n_cases]


def score_cells(group: GroupComparison) -> list[str]:
    """Return the row of one model under SCORE_TITLES: base, then candidate in each cell."""
    base, candidate = group.base, group.candidate
    return [
        name_of(group),
        pair(percent(base.score_strict), percent(candidate.score_strict)),
        pair(percent(base.score_available), percent(candidate.score_available)),
        pair(percent(base.coverage), percent(candidate.coverage)),
        pair(_causes(base.causes), _causes(candidate.causes)),
    ]


def _causes(causes: dict[str, int]) -> str:
    counts = sorted(causes.items(), key=lambda cause: (-cause[1], cause[0]))
    return ", ".join(f"{whole(count)} {name}" for name, count in counts)


REPEAT_TITLES = ("model", "k", "pass@k", "pass^k")


def repeat_rows(groups: Sequence[GroupComparison]) -> list[list[str]]:
    """Return a row under REPEAT_TITLES for each model whose cases were repeated on both sides."""
    return [row for group in groups if (row := _repeat_cells(group))]


def _repeat_cells(group: GroupComparison) -> list[str]:
    """Return the row at the most trials k that both sides have; nothing below two (S21)."""
    any_of = [
        {one.k: one.value for one in side.pass_at_k} for side in (group.base, group.candidate)
    ]
    all_of = [
        {one.k: one.value for one in side.pass_hat_k} for side in (group.base, group.candidate)
    ]
    k = max(any_of[0].keys() & any_of[1].keys(), default=1)
    if k == 1 or group.verdict == "not_comparable":
        return []
    rates = [pair(*(percent(curve[k]) for curve in curves)) for curves in (any_of, all_of)]
    return [name_of(group), whole(k), *rates]


RATIO_TITLES = ("model", "of", "cases", "ratio", "95 %", "q", "totals", "out%", "nights", "verdict")


def ratio_rows(groups: Sequence[GroupComparison]) -> list[list[str]]:
    """Return a row under RATIO_TITLES for each ratio that was measured on both sides."""
    return [
        ratio_cells(group, ratio) for group in groups for ratio in group.ratios if ratio.n_cases
    ]


def ratio_cells(group: GroupComparison, ratio: Ratio) -> list[str]:
    """Return the row of one ratio under RATIO_TITLES."""
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

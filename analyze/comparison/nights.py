"""What nights add to the differences of one model: tables of its past nights, and their variance.

Two models of one run, and two shards of one plan, share their night: there nothing is added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import NamedTuple

from analyze.comparison.evidence.outcomes import METRICS, CaseKey, CaseOutcome
from analyze.comparison.evidence.past_runs import FIRST_LOG, PastCell, PastNights
from analyze.comparison.pairing import PairedGroup
from analyze.stats.night_noise import MAX_RUNS, NightVariance, variance_of_logs, variance_of_rates
from analyze.stats.power.nights import Counts, Logs, level_of_logs, level_of_rates
from schemas.config.project import Thresholds
from schemas.output.comparison import NightNoise

MIN_COMMON_SHARE = 0.8
"""Share of the compared cases that a past night must have asked in their present version."""


class Nights(NamedTuple):
    """How one model varies between nights, and how many of them each side is the mean of."""

    n_base: int
    n_candidate: int
    rate: NightVariance
    logs: tuple[NightVariance, ...]
    """By the order of METRICS."""


def nights_of(
    group: PairedGroup,
    rows: Sequence[CaseOutcome],
    past: Mapping[str, PastNights],
    thresholds: Thresholds,
    *,
    any_content: bool,
) -> Nights | None:
    """Return how a model varies between nights; None where both sides are the same nights.

    Where `any_content` a case is the same whatever was asked.
    """
    plans = {row.run_id: row.facts.run_group or f"run {row.run_id}" for row in rows}
    base, candidate = (
        {plans[run_id] for run_id in runs if run_id in plans}
        for runs in (group.base.runs, group.candidate.runs)
    )
    if base == candidate or not base or not candidate:
        return None
    asked = _newest_case_hashes(group, rows)
    cases = [case.case for case in group.cases]
    table = _table(cases, asked, past.get(candidate_model(group)), any_content=any_content)
    return Nights(
        n_base=len(base),
        n_candidate=len(candidate),
        rate=_rate(table, group, thresholds.pass_rate_margin),
        logs=tuple(_logs(table, place, thresholds.ratio_margin) for place in range(len(METRICS))),
    )


def night_noise(
    nights: Nights, variance: NightVariance, limits: tuple[float, float, float, float] | None = None
) -> NightNoise:
    """Return what is said of it.

    The limits are of a pass rate with the nights in it: 95 %, then 90 %.
    """
    low, high, low90, high90 = limits or (None, None, None, None)
    return NightNoise(
        basis="assumed" if variance.seen is None else "measured",
        n_runs=variance.n_runs,
        sd=variance.variance**0.5,
        seen_sd=None if variance.seen is None else variance.seen**0.5,
        df=variance.df,
        n_base_runs=nights.n_base,
        n_candidate_runs=nights.n_candidate,
        low=low,
        high=high,
        low90=low90,
        high90=high90,
    )


def candidate_model(group: PairedGroup) -> str:
    """Return the model_id whose history counts: the candidate's."""
    return group.candidate.key.model_id


def _newest_case_hashes(
    group: PairedGroup, rows: Sequence[CaseOutcome]
) -> dict[CaseKey, str | None]:
    """Return the version of each case that the candidate's newest run asked."""
    place = {run_id: number for number, run_id in enumerate(group.candidate.runs)}
    of_model = [
        row for row in rows if row.run_id in place and row.key.model_id == candidate_model(group)
    ]
    return {row.case: row.case_hash for row in sorted(of_model, key=lambda row: place[row.run_id])}


class Table(NamedTuple):
    """Past nights x compared cases, oldest first."""

    planned: Counts
    """1 where the case was asked in the candidate's version, else 0."""
    passed: Counts
    scored: Counts
    logs: tuple[Logs, ...]
    """Of each metric, by the order of METRICS; None where there is none."""


def _table(
    cases: Sequence[CaseKey],
    asked: Mapping[CaseKey, str | None],
    past: PastNights | None,
    *,
    any_content: bool,
) -> Table:
    """Return the nights that asked enough of the cases; a case that was another one is none."""
    if past is None:
        return Table([], [], [], tuple([] for _ in METRICS))
    absent: Sequence[PastCell | None] = [None] * past.n_nights
    columns = []
    for case in cases:
        version = asked.get(case) or ""  # one that is not known is none of these
        columns.append(
            [
                cell if cell is not None and (any_content or cell.case_hash == version) else None
                for cell in past.cases.get(case, absent)
            ]
        )
    nights = [
        night
        for night in zip(*columns, strict=True)
        if len(night) - night.count(None) >= MIN_COMMON_SHARE * len(cases)
    ]
    return Table(
        planned=[[int(cell is not None) for cell in night] for night in nights],
        passed=[[0 if cell is None else cell.passed for cell in night] for night in nights],
        scored=[[0 if cell is None else cell.scored for cell in night] for night in nights],
        logs=tuple(
            [
                [None if cell is None else cell[FIRST_LOG + place] for cell in night]
                for night in nights
            ]
            for place in range(len(METRICS))
        ),
    )


def _rate(table: Table, group: PairedGroup, margin: float) -> NightVariance:
    own = [any(night) for night in table.scored]
    passed, scored = list(compress(table.passed, own)), list(compress(table.scored, own))
    planned = list(compress(table.planned, own))
    first = level_of_rates(passed, scored, planned, margin) if passed else 0
    first = max(first, len(passed) - MAX_RUNS)
    own_trials = [side.own for case in group.cases for side in (case.base, case.candidate)]
    sides = [one.n_passed for one in own_trials], [one.n_scored for one in own_trials]
    return variance_of_rates(passed[first:], scored[first:], sides)


def _logs(table: Table, place: int, ratio_margin: float) -> NightVariance:
    known = [night.count(None) < len(night) for night in table.logs[place]]
    logs, planned = list(compress(table.logs[place], known)), list(compress(table.planned, known))
    first = level_of_logs(logs, planned, ratio_margin) if logs else 0
    return variance_of_logs(logs[max(first, len(logs) - MAX_RUNS) :])

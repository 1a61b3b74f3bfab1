"""Past nights of the models of a comparison, by which it is known how much nights vary.

Of each model the runs of the candidate's suite before it: the last few plans, shards together, that
lost less than a tenth of their verdicts and asked most of the same cases. What follows from them is
in `nights`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from analyze.compare.run_facts import among
from analyze.comparison.evidence.outcomes import CaseKey
from analyze.comparison.evidence.past_runs import PastCell, together

if TYPE_CHECKING:
    from analyze.query.session import Session

LAST_PLANS = 24
"""Plans that are read: twenty nights, and some before them by which a break shows."""

LEAST_COVERAGE = 0.9
"""Share of its trials with a verdict below which a run says nothing about its level."""

PLANS = """
with

described as materialized (
    select
        run_id,
        suite_id,
        coalesce('group ' || run_group, 'run ' || run_id) as plan,
        started_at_ms,
        {judged} as is_judged,
        {sides} as is_of_side
    from stg_runs
),

plans as (
    select
        suite_id,
        coalesce(max(started_at_ms), -1) as moment,
        max(run_id) as name,
        list(run_id order by run_id) as run_ids,
        list(started_at_ms) as starts,
        bool_or(is_judged) as is_judged,
        bool_or(is_of_side) as is_of_side
    from described
    where suite_id in (select suite_id from described where is_of_side)
    group by suite_id, plan
),

judged as (
    select suite_id, min((moment, name)) as place from plans where is_judged group by all
)

select
    plans.suite_id,
    plans.run_ids,
    plans.starts,
    coalesce((plans.moment, plans.name) < judged.place, false) as is_before
from plans
left join judged on plans.suite_id = judged.suite_id
where is_before or plans.is_of_side
qualify plans.is_of_side or row_number() over (
    partition by plans.suite_id, is_before order by plans.moment desc, plans.name desc
) <= ?
order by plans.moment, plans.name
"""


class Plan(NamedTuple):
    """A run, or all shards of one plan."""

    suite_id: str
    run_ids: tuple[str, ...]
    starts_ms: tuple[int | None, ...]
    is_before: bool
    """It started before the run that is judged."""


class PastNights(NamedTuple):
    """The past nights of one model."""

    n_nights: int
    cases: Mapping[CaseKey, Sequence[PastCell | None]]
    """Of each case the nights, oldest first; None where it was not asked."""


def read_plans(session: Session, runs: Collection[str], before: Sequence[str]) -> list[Plan]:
    """Return the plans of some runs, and the last ones before others, oldest first.

    Args:
        session: the open lake.
        runs: of both sides; plans before them are of the same suites.
        before: runs before which the past nights are.

    Raises:
        ViewError: the lake cannot be read.
    """
    sides = sorted(runs)
    sql = PLANS.format(judged=among(before), sides=among(sides))
    rows = session.rows(sql, [*before, *sides, LAST_PLANS])
    return [
        Plan(suite_id, tuple(runs), tuple(starts), is_before)
        for suite_id, runs, starts, is_before in rows
    ]


def past_nights(cells: Iterable[PastCell], plans: Sequence[Plan]) -> dict[str, PastNights]:
    """Return the past nights of models, by model_id, oldest first; nights too thin left out.

    Args:
        cells: of the runs of these plans; those of other runs are passed over.
        plans: the past nights, oldest first.
    """
    place = {run_id: number for number, plan in enumerate(plans) for run_id in plan.run_ids}
    cases: defaultdict[str, defaultdict[CaseKey, list[PastCell | None]]]
    cases = defaultdict(lambda: defaultdict(lambda: [None] * len(plans)))
    for cell in cells:
        night = place.get(cell.run_id)
        if night is not None:
            nights = cases[cell.model_id][CaseKey(cell.suite_id, cell.case_id)]
            other = nights[night]
            nights[night] = cell if other is None else together(other, cell)
    return {model_id: _whole(of_model, len(plans)) for model_id, of_model in cases.items()}


def _whole(cases: Mapping[CaseKey, Sequence[PastCell | None]], n_plans: int) -> PastNights:
    """Return the nights that have enough verdicts; where nothing is judged, enough times."""
    kept = []
    for place in range(n_plans):
        cells = [cell for nights in cases.values() if (cell := nights[place]) is not None]
        scorable = sum(cell.n_scorable for cell in cells)
        is_whole = (
            sum(cell.n_scored for cell in cells) >= LEAST_COVERAGE * scorable
            if scorable
            else sum(cell.e2e_ms is not None for cell in cells) >= LEAST_COVERAGE * len(cells)
        )
        if cells and is_whole:
            kept.append(place)
    return PastNights(
        len(kept), {case: [nights[place] for place in kept] for case, nights in cases.items()}
    )

"""Past nights of the models of a comparison, by which it is known how much nights vary.

Of each model the runs of the candidate's suite before it: the last few plans, shards together, that
lost less than a tenth of their verdicts and asked most of the same cases. What follows from them is
in `nights`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from analyze.compare.outcomes import LN_SCALE, METRICS, CaseKey
from analyze.compare.run_facts import among

if TYPE_CHECKING:
    from analyze.session import Session

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

CELLS = """
with

planned as (
    select
        run_id,
        model_id,
        suite_id,
        case_id,
        min(case_hash) as case_hash,
        count(case when is_scorable then 1 end) as n_scorable
    from stg_plans
    where {runs} and {models}
    group by all
),

came as (
    select
        run_id,
        model_id,
        suite_id,
        case_id,
        passed,
        case when is_measured then passed end as own_passed,
        case when is_measured and is_success then output_hash end as answer_hash,
        case when is_measured and not is_success and passed is not null then 1 end as failed_answer,
        {logs}
    from trials
    where {runs} and {models}
),

counted as (
    select
        run_id,
        model_id,
        suite_id,
        case_id,
        count(passed) as n_scored,
        count(case when own_passed then 1 end) as k,
        count(own_passed) as m,
        count(answer_hash) > 1 and count(failed_answer) = 0
        and min(answer_hash) = max(answer_hash) and k in (0, m) as is_same,
        {means},
        case when ? then [{sums}] end as sums
    from came
    group by all
)

select
    planned.run_id,
    planned.model_id,
    planned.suite_id,
    planned.case_id,
    planned.case_hash,
    planned.n_scorable,
    coalesce(counted.n_scored, 0) as n_scored,
    coalesce(case when counted.is_same then least(counted.k, 1) else counted.k end, 0) as passed,
    coalesce(case when counted.is_same then least(counted.m, 1) else counted.m end, 0) as scored,
    {names},
    counted.sums
from planned
left join counted
    on planned.run_id = counted.run_id
    and planned.model_id = counted.model_id
    and planned.suite_id = counted.suite_id
    and planned.case_id = counted.case_id
"""
"""What nights need of int_case_outcomes, by its definitions; a test holds both equal. That view has
three times the columns, which cost more than the trials of a month."""

AT_ONCE = "is_success and attempt_count = 1 and"
LOGS = {
    "e2e_ms": (AT_ONCE, "e2e_ms"),
    "ttft_ms": (AT_ONCE, "ttft_ms"),
    "input_tokens": ("", "input_tokens"),
    "output_tokens": ("", "output_tokens"),
    "cost_usd": ("", "cost_nano_usd"),
}
"""Of each metric which trials are in it, and its column."""


class Plan(NamedTuple):
    """A run, or all shards of one plan."""

    suite_id: str
    run_ids: tuple[str, ...]
    starts_ms: tuple[int | None, ...]
    is_before: bool
    """It started before the run that is judged."""


class PastCell(NamedTuple):
    """One case with one model in one past night."""

    case_hash: str | None
    n_scorable: int
    n_scored: int
    """Trials with a verdict, reused ones included."""
    passed: int
    scored: int
    """Independent trials with a verdict; identical repetitions are one."""
    e2e_ms: float | None
    """Mean logarithm; the same for every metric, by the order of METRICS."""
    ttft_ms: float | None
    input_tokens: float | None
    output_tokens: float | None
    cost_usd: float | None
    """Of USD / 10^9."""
    sums: Sequence[int | None] | None
    """Of each metric its trials and the sum of their logarithms, in 1 / LN_SCALE; read only where a
    plan has shards."""


FIRST_LOG = PastCell._fields.index("e2e_ms")
"""Place of the first mean logarithm of a cell."""


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


def read_past_nights(
    session: Session, plans: Sequence[Plan], model_ids: Collection[str]
) -> dict[str, PastNights]:
    """Return the past nights of models, by model_id, oldest first; nights too thin left out.

    Args:
        session: the open lake.
        plans: that are read.
        model_ids: of the candidate.

    Raises:
        ViewError: the lake cannot be read.
    """
    place = {run_id: number for number, plan in enumerate(plans) for run_id in plan.run_ids}
    if not place or not model_ids:
        return {}
    run_ids = list(place)
    models = sorted(model_ids)
    sql = CELLS.format(
        logs=", ".join(
            f"case when is_measured and {condition} {column} > 0 "
            f"then cast(round(ln({column}) * {LN_SCALE!r}) as bigint) end as {name}"
            for name, (condition, column) in LOGS.items()
        ),
        means=", ".join(
            f"cast(sum({name}) as bigint) / count({name}) / {LN_SCALE!r} as ln_{name}"
            for name in METRICS
        ),
        sums=", ".join(f"count({name}), cast(sum({name}) as bigint)" for name in METRICS),
        names=", ".join(f"counted.ln_{name}" for name in METRICS),
        runs=among(run_ids),
        models=f"model_id in ({', '.join('?' * len(models))})",
    )
    cases: defaultdict[str, defaultdict[CaseKey, list[PastCell | None]]]
    cases = defaultdict(lambda: defaultdict(lambda: [None] * len(plans)))
    for run_id, model_id, suite_id, case_id, *values in session.rows(
        sql, [*run_ids, *models, *run_ids, *models, len(run_ids) > len(plans)]
    ):
        nights = cases[model_id][CaseKey(suite_id, case_id)]
        cell, other = PastCell(*values), nights[place[run_id]]
        nights[place[run_id]] = cell if other is None else _together(other, cell)
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


def _together(one: PastCell, other: PastCell) -> PastCell:
    """Return a case whose repetitions two shards share."""
    sums = [(a or 0) + (b or 0) for a, b in zip(one.sums or (), other.sums or (), strict=True)]
    logs = [
        total / n / LN_SCALE if n else None for n, total in zip(sums[::2], sums[1::2], strict=True)
    ]
    return PastCell._make(
        [
            one.case_hash if one.case_hash == other.case_hash else None,
            one.n_scorable + other.n_scorable,
            one.n_scored + other.n_scored,
            one.passed + other.passed,
            one.scored + other.scored,
            *logs,
            sums,
        ]
    )

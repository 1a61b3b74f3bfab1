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

plans as (
    select
        suite_id,
        coalesce('group ' || run_group, 'run ' || run_id) as plan,
        coalesce(max(started_at_ms), -1) as moment,
        max(run_id) as name,
        list(run_id order by run_id) as run_ids,
        list(started_at_ms) as starts,
        bool_or({judged}) as is_judged,
        bool_or({sides}) as is_of_side
    from stg_runs
    where suite_id in (select suite_id from stg_runs where {sides})
    group by all
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
select
    run_id,
    model_id,
    suite_id,
    case_id,
    case_hash,
    n_scorable,
    n_scored,
    case when is_same then least(n_independent_passed, 1) else n_independent_passed end as k,
    case when is_same then least(n_independent, 1) else n_independent end as m,
    {sums}
from (
    select
        *,
        n_answers > 1 and n_failed_answers = 0 and first_hash = last_hash
        and n_independent_passed in (0, n_independent) as is_same
    from int_case_outcomes
    where {runs} and {models}
)
"""

COLUMNS = {name: (f"n_{name}", f"ln_{name}") for name in METRICS}
COLUMNS["cost_usd"] = ("n_cost", "ln_cost_nano_usd")
SUMS = [column for columns in COLUMNS.values() for column in columns]


class Plan(NamedTuple):
    """A run, or all shards of one plan."""

    suite_id: str
    run_ids: tuple[str, ...]
    starts_ms: tuple[int | None, ...]
    is_before: bool
    """It started before the run that is judged."""


class PastCell(NamedTuple):
    """One case with one model in one past run."""

    case_hash: str | None
    passed: int
    scored: int
    """Independent trials with a verdict; identical repetitions are one."""
    sums: tuple[int | None, ...]
    """Of each metric its trials and the sum of their logarithms, by the order of METRICS."""

    def ln_mean(self, place: int) -> float | None:
        """Return the mean logarithm of a metric; that of a cost but for a constant."""
        n, total = self.sums[2 * place : 2 * place + 2]
        return total / n / LN_SCALE if n and total is not None else None


PastNight = Mapping[CaseKey, PastCell]
"""One past run of one model."""


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
    rows = session.rows(sql, [*before, *sides, *sides, LAST_PLANS])
    return [
        Plan(suite_id, tuple(runs), tuple(starts), is_before)
        for suite_id, runs, starts, is_before in rows
    ]


def read_past_nights(
    session: Session, plans: Sequence[Plan], model_ids: Collection[str]
) -> dict[str, list[PastNight]]:
    """Return the past nights of models, by model_id, oldest first; nights too thin left out.

    Args:
        session: the open lake.
        plans: that are read.
        model_ids: of the candidate.

    Raises:
        ViewError: the lake cannot be read.
    """
    run_ids = [run_id for plan in plans for run_id in plan.run_ids]
    if not run_ids or not model_ids:
        return {}
    models = f"model_id in ({', '.join('?' * len(model_ids))})"
    sql = CELLS.format(sums=", ".join(SUMS), runs=among(run_ids), models=models)
    place = {run_id: number for number, plan in enumerate(plans) for run_id in plan.run_ids}
    found: defaultdict[tuple[str, int], dict[CaseKey, PastCell]] = defaultdict(dict)
    sums: defaultdict[tuple[str, int], _Sums] = defaultdict(_Sums)
    for run_id, model_id, suite_id, case_id, case_hash, *values in session.rows(
        sql, [*run_ids, *sorted(model_ids)]
    ):
        scorable, scored, k, m, *measured = values
        key, case_key = (model_id, place[run_id]), CaseKey(suite_id, case_id)
        cell = PastCell(case_hash, k, m, tuple(measured))
        night, of_night = found[key], sums[key]
        night[case_key] = _together(night[case_key], cell) if case_key in night else cell
        of_night.scorable += scorable
        of_night.scored += scored
        of_night.timed += measured[0] > 0
    nights: defaultdict[str, list[PastNight]] = defaultdict(list)
    for (model_id, number), cells in sorted(found.items()):
        if sums[model_id, number].is_whole(len(cells)):
            nights[model_id].append(cells)
    return nights


class _Sums:
    """Trials of one night of a model, and its cases with a time."""

    scorable = scored = timed = 0

    def is_whole(self, n_cases: int) -> bool:
        """Return whether there are enough verdicts; where nothing is judged, enough times."""
        if self.scorable:
            return self.scored >= LEAST_COVERAGE * self.scorable
        return self.timed >= LEAST_COVERAGE * n_cases


def _together(one: PastCell, other: PastCell) -> PastCell:
    """Return a case whose repetitions two shards share."""
    return PastCell(
        one.case_hash if one.case_hash == other.case_hash else None,
        one.passed + other.passed,
        one.scored + other.scored,
        tuple((a or 0) + (b or 0) for a, b in zip(one.sums, other.sums, strict=True)),
    )

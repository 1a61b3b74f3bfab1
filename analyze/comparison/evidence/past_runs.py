"""What past runs came to, case by case: the one read behind past nights and planned sizes.

It counts what int_case_outcomes counts, in a third of its columns: the other ones would cost a
comparison more than its own two runs do. Needs no records, so that the engine works while these
load.

Past nights tell how much nights vary. Of each model they are the runs of the candidate's suite
before it: the last few plans, shards together, that lost less than a tenth of their verdicts and
asked most of the same cases. What follows from them is in `analyze.comparison.nights`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from analyze.comparison.evidence.outcomes import LN_SCALE, METRICS, CaseKey, of_runs
from analyze.lake.overlay import read_sql

if TYPE_CHECKING:
    from analyze.query.session import Session

CELLS = read_sql("comparison/evidence/past_cells.sql")
"""A test holds it equal to int_case_outcomes."""

AT_ONCE = "is_success and attempt_count = 1 and"
LOGS = {
    "e2e_ms": (AT_ONCE, "e2e_ms"),
    "ttft_ms": (AT_ONCE, "ttft_ms"),
    "input_tokens": ("", "input_tokens"),
    "output_tokens": ("", "output_tokens"),
    "cost_usd": ("", "cost_nano_usd"),
}
"""Of each metric which trials are in it, and its column."""

MAX_PLANS = 24
"""Plans that are read: twenty nights, and some before them by which a break shows."""

MIN_COVERAGE = 0.9
"""Share of its trials with a verdict below which a run says nothing about its level."""

PLANS = read_sql("comparison/evidence/past_plans.sql")


class PastCell(NamedTuple):
    """One case with one model in one run; trials that were taken over count as `n_scored` alone."""

    run_id: str
    model_id: str
    suite_id: str
    case_id: str
    case_hash: str | None
    cluster: str | None
    n_scorable: int
    n_scored: int
    """Trials with a verdict, reused ones included."""
    passed: int
    scored: int
    """Independent trials with a verdict; identical repetitions are one."""
    n_independent_passed: int
    n_independent: int
    """The same, identical repetitions each for itself."""
    n_answers: int
    n_failed_answers: int
    first_hash: str | None
    last_hash: str | None
    """Of its answers, by the alphabet."""
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


COUNTS = PastCell._fields[6:14]
"""From `n_scorable` to `n_failed_answers`."""

FIRST_LOG = PastCell._fields.index("e2e_ms")
"""Place of the first mean logarithm of a cell."""


def read_cells(
    session: Session, plans: Sequence[Sequence[str]], model_ids: Collection[str] = ()
) -> list[PastCell]:
    """Return every case that runs planned, ordered by run, model and case.

    Args:
        session: the open lake.
        plans: the run ids of each plan, of its shards where it has any.
        model_ids: only these, by model_id or model string; every one unless given.

    Raises:
        ViewError: the lake cannot be read.
    """
    run_ids = list(chain.from_iterable(plans))
    if not run_ids:
        return []
    models = sorted(model_ids)
    marks = ", ".join("?" * len(models))
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
        runs=of_runs(run_ids),
        models=f"(model_id in ({marks}) or model in ({marks}))" if models else "true",
    )
    asked = [*run_ids, *models, *models]
    rows = session.rows(sql, [*asked, *asked, len(run_ids) > len(plans)])
    return [PastCell._make(row) for row in rows]


def merge_shards(one: PastCell, other: PastCell) -> PastCell:
    """Return a case whose repetitions two shards share."""
    none: Sequence[int | None] = [0] * 2 * len(METRICS)  # of a shard that has no result of the case
    both = zip(one.sums or none, other.sums or none, strict=True)
    sums = [(a or 0) + (b or 0) for a, b in both]
    means: dict[str, Any] = {
        name: total / n / LN_SCALE if n else None
        for name, n, total in zip(METRICS, sums[::2], sums[1::2], strict=True)
    }
    counts: dict[str, Any] = {name: getattr(one, name) + getattr(other, name) for name in COUNTS}
    hashes = (one.first_hash, one.last_hash, other.first_hash, other.last_hash)
    known = [hash_ for hash_ in hashes if hash_ is not None]
    return one._replace(
        case_hash=one.case_hash if one.case_hash == other.case_hash else None,
        first_hash=min(known, default=None),
        last_hash=max(known, default=None),
        sums=sums,
        **counts,
        **means,
    )


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

    The plans before the runs `before` are of the suites of the others.

    Raises:
        ViewError: the lake cannot be read.
    """
    sides = sorted(runs)
    sql = PLANS.format(judged=of_runs(before), sides=of_runs(sides))
    rows = session.rows(sql, [*before, *sides, MAX_PLANS])
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
            nights[night] = cell if other is None else merge_shards(other, cell)
    return {model_id: _whole(of_model, len(plans)) for model_id, of_model in cases.items()}


def _whole(cases: Mapping[CaseKey, Sequence[PastCell | None]], n_plans: int) -> PastNights:
    """Return the nights that have enough verdicts; where nothing is judged, enough times."""
    kept = []
    for place in range(n_plans):
        cells = [cell for nights in cases.values() if (cell := nights[place]) is not None]
        scorable = sum(cell.n_scorable for cell in cells)
        is_whole = (
            sum(cell.n_scored for cell in cells) >= MIN_COVERAGE * scorable
            if scorable
            else sum(cell.e2e_ms is not None for cell in cells) >= MIN_COVERAGE * len(cells)
        )
        if cells and is_whole:
            kept.append(place)
    return PastNights(
        len(kept), {case: [nights[place] for place in kept] for case, nights in cases.items()}
    )

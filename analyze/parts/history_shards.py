"""Shards of one plan are one point of a history: their trials are counted together, by case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from analyze.stats.case_rate import interval_of_units

if TYPE_CHECKING:
    from analyze.query.session import Session
    from schemas.base import Interval

CASES = """
select
    run_rows.run_group,
    passes.model_id,
    sum(passes.n_passed),
    sum(passes.n_scored),
    sum(passes.n_scorable),
    min(passes.cluster)
from int_case_passes as passes
inner join stg_runs as run_rows on passes.run_id = run_rows.run_id
where run_rows.run_group in ({groups})
group by run_rows.run_group, passes.model_id, passes.case_id
order by run_rows.run_group, passes.model_id, passes.case_id
"""


class Merged(NamedTuple):
    """One model in all shards of a plan."""

    model_id: str
    passed_rate: float
    coverage: float
    n_scored: int
    interval: Interval | None


def merged_shards(session: Session, groups: Mapping[str, str]) -> dict[str, list[Merged]]:
    """Return the models with a verdict of each plan that was asked in shards.

    Args:
        session: the open lake.
        groups: `run_group` of each plan, and the run_id that stands for it.

    Returns:
        Models by that run_id, in the order of their names.

    Raises:
        ViewError: the lake cannot be read.
    """
    if not groups:
        return {}
    query = CASES.format(groups=", ".join("?" * len(groups)))
    cases: defaultdict[tuple[str, str], list[tuple[int, int, int, str | None]]] = defaultdict(list)
    for group, model_id, passed, scored, scorable, cluster in session.rows(query, list(groups)):
        cases[group, model_id].append((int(passed), int(scored), int(scorable), cluster))
    found: dict[str, list[Merged]] = {run_id: [] for run_id in groups.values()}
    for (group, model_id), counts in cases.items():
        judged = [(k, m, cluster) for k, m, _, cluster in counts if m]
        if not judged:
            continue
        n_scored = sum(m for _, m, _ in judged)
        found[groups[group]].append(
            Merged(
                model_id,
                passed_rate=sum(k for k, *_ in judged) / n_scored,
                coverage=n_scored / sum(planned for _, _, planned, _ in counts),
                n_scored=n_scored,
                interval=interval_of_units(
                    [cluster for *_, cluster in judged],
                    [k for k, *_ in judged],
                    [m for _, m, _ in judged],
                ),
            )
        )
    return found

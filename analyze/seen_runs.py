"""What past runs of a suite showed of each model: the material that a planned size rests on.

Needs no records, so that the engine works while these load.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from analyze.stats.assumptions import CaseSeen, RunSeen

if TYPE_CHECKING:
    from analyze.session import Session


@dataclass(frozen=True, slots=True)
class ModelRun:
    """One model in one run; the shards of one plan are one run."""

    n_cases: int
    """That can get a verdict."""
    repetitions: int
    """Trials of such a case, at most."""
    seen: RunSeen
    clusters: Mapping[str, str | None]
    """Of each case that can get a verdict, by case_id."""


class _Row(NamedTuple):
    """What is read of a case in one run or shard; trials that were taken over are no draw."""

    case_hash: str | None
    cluster: str | None
    n_scorable: int
    n_independent: int
    n_independent_passed: int
    n_answers: int
    n_failed_answers: int
    first_hash: str | None
    last_hash: str | None


def read_model_runs(
    session: Session, runs: Sequence[Sequence[str]], models: Collection[str] = ()
) -> list[Mapping[str, ModelRun]]:
    """Return each model of each run, with what became of its cases.

    Args:
        session: the open lake.
        runs: the run ids of each run, of its shards where it has any.
        models: only these, by model_id or model string; every one unless given.

    Raises:
        ViewError: the lake cannot be read.
    """
    place = {run_id: at for at, run_ids in enumerate(runs) for run_id in run_ids}
    if not place:
        return []
    values: list[object] = list(place)
    condition = f"run_id in ({', '.join('?' * len(place))})"
    if models:
        marks = ", ".join("?" * len(models))
        condition += f" and (model_id in ({marks}) or model in ({marks}))"
        values += [*sorted(models), *sorted(models)]
    rows: defaultdict[tuple[int, str], defaultdict[str, list[_Row]]] = defaultdict(
        lambda: defaultdict(list)
    )
    columns = ", ".join(_Row._fields)
    for run_id, model_id, case_id, *facts in session.rows(
        f"select run_id, model_id, case_id, {columns} "  # noqa: S608 - our own terms
        f"from int_case_outcomes where {condition} order by run_id, model_id, case_id",
        values,
    ):
        rows[place[run_id], model_id][case_id].append(_Row(*facts))
    found: list[dict[str, ModelRun]] = [{} for _ in runs]
    for (at, model_id), cases in rows.items():
        found[at][model_id] = _model_run(tuple(runs[at]), cases)
    return list(found)


def _model_run(run_ids: tuple[str, ...], cases: Mapping[str, Sequence[_Row]]) -> ModelRun:
    scorable = [sum(row.n_scorable for row in shards) for shards in cases.values()]
    return ModelRun(
        n_cases=sum(count > 0 for count in scorable),
        repetitions=max(scorable),
        seen=RunSeen(run_ids, {case_id: _case(shards) for case_id, shards in cases.items()}),
        clusters={
            case_id: shards[0].cluster
            for (case_id, shards), count in zip(cases.items(), scorable, strict=True)
            if count
        },
    )


def _case(shards: Sequence[_Row]) -> CaseSeen:
    answers = {hash_ for row in shards for hash_ in (row.first_hash, row.last_hash) if hash_}
    is_repeated = sum(row.n_answers for row in shards) > 1
    return CaseSeen(
        shards[0].case_hash,
        sum(row.n_independent for row in shards),
        sum(row.n_independent_passed for row in shards),
        is_repeated,
        is_repeated and len(answers) == 1 and not any(row.n_failed_answers for row in shards),
    )

"""What past runs of a suite showed of each model: the material that a planned size rests on.

Needs no records, so that the engine works while these load.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from analyze.comparison.evidence.past_runs import PastCell, read_cells, together
from analyze.stats.power.assumptions import CaseSeen, RunSeen

if TYPE_CHECKING:
    from analyze.query.session import Session


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
    return model_runs(read_cells(session, runs, models), runs)


def model_runs(
    cells: Iterable[PastCell], runs: Sequence[Sequence[str]]
) -> list[Mapping[str, ModelRun]]:
    """Return each model of each run, by model_id.

    Args:
        cells: of these runs, ordered by run and case; those of other runs are passed over.
        runs: the run ids of each run, of its shards where it has any.
    """
    place = {run_id: at for at, run_ids in enumerate(runs) for run_id in run_ids}
    cases: defaultdict[tuple[int, str], defaultdict[str, list[PastCell]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for cell in cells:
        at = place.get(cell.run_id)
        if at is not None:
            cases[at, cell.model_id][cell.case_id].append(cell)
    found: list[dict[str, ModelRun]] = [{} for _ in runs]
    for (at, model_id), of_model in cases.items():
        found[at][model_id] = _model_run(tuple(runs[at]), of_model)
    return list(found)


def _model_run(run_ids: tuple[str, ...], cases: Mapping[str, Sequence[PastCell]]) -> ModelRun:
    wholes = [reduce(together, shards) for shards in cases.values()]
    return ModelRun(
        n_cases=sum(cell.n_scorable > 0 for cell in wholes),
        repetitions=max(cell.n_scorable for cell in wholes),
        seen=RunSeen(
            run_ids,
            {
                case_id: _case(cell, shards[0].case_hash)
                for (case_id, shards), cell in zip(cases.items(), wholes, strict=True)
            },
        ),
        clusters={cell.case_id: cell.cluster for cell in wholes if cell.n_scorable},
    )


def _case(cell: PastCell, case_hash: str | None) -> CaseSeen:
    is_repeated = cell.n_answers > 1
    return CaseSeen(
        case_hash,
        cell.n_independent,
        cell.n_independent_passed,
        is_repeated,
        is_repeated and not cell.n_failed_answers and cell.first_hash == cell.last_hash,
    )

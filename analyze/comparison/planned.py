"""What two sides could show, and how many cases a margin takes: the answers of `analyze power`.

They use the same history, with the candidate as its newest run, so that a comparison, a plan and
the end of a run give one number for one question. Only the correlation of the two sides is taken
from these sides themselves, whatever their runs are. `ModelRun` is the material that a planned size
rests on: what past runs of a suite showed of one model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, NamedTuple

from analyze.comparison.evidence.outcomes import Answers
from analyze.comparison.evidence.past_runs import PastCell, merge_shards, read_cells
from analyze.comparison.nights import Nights
from analyze.comparison.pairing import PairedCase, Pooled, common_cases
from analyze.stats.power.assumptions import (
    Assumptions,
    ObservedCase,
    ObservedRun,
    assumptions_of,
    two_runs,
)
from analyze.stats.power.planning import TWO_NIGHTS, SizeAnswer, size_answer
from analyze.stats.power.smallest_drop import SAME_HARD_CASES
from schemas.config.project import Thresholds

if TYPE_CHECKING:
    from analyze.query.session import Session


@dataclass(frozen=True, slots=True)
class ModelRun:
    """One model in one run; the shards of one plan are one run."""

    n_cases: int
    """That can get a verdict."""
    repetitions: int
    """Trials of such a case, at most."""
    observed: ObservedRun
    clusters: Mapping[str, str | None]
    """Of each case that can get a verdict, by case_id."""


def read_model_runs(
    session: Session, runs: Sequence[Sequence[str]], models: Collection[str] = ()
) -> list[Mapping[str, ModelRun]]:
    """Return each model of each run, with what became of its cases.

    Of these models only, by model_id or model string; of every one unless any is given.

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
    wholes = [reduce(merge_shards, shards) for shards in cases.values()]
    return ModelRun(
        n_cases=sum(cell.n_scorable > 0 for cell in wholes),
        repetitions=max(cell.n_scorable for cell in wholes),
        observed=ObservedRun(
            run_ids,
            {
                case_id: _case(cell, shards[0].case_hash)
                for (case_id, shards), cell in zip(cases.items(), wholes, strict=True)
            },
        ),
        clusters={cell.case_id: cell.cluster for cell in wholes if cell.n_scorable},
    )


def _case(cell: PastCell, case_hash: str | None) -> ObservedCase:
    answers = Answers(cell.n_answers, cell.n_failed_answers, cell.first_hash, cell.last_hash)
    return ObservedCase(
        case_hash,
        cell.n_independent,
        cell.n_independent_passed,
        answers.is_repeated,
        answers.is_identical,
    )


class PlannedAnswers(NamedTuple):
    """What both sides show, and what a plan like the candidate needs."""

    shown: SizeAnswer
    needed: SizeAnswer
    """Of the candidate's repetitions, where each side is one night or both are the same."""
    repetitions: tuple[int, int]
    """Trials of a case that were planned on either side."""


def planned_answers(
    cases: Sequence[PairedCase],
    history: Sequence[ModelRun],
    nights: Nights | None,
    limits: Thresholds,
) -> PlannedAnswers:
    """Return what a plan of the size of both sides shows, and what the margin needs.

    Args:
        cases: of one model on both sides.
        history: runs of the candidate's model, the newest first, which is the candidate; where
            none was read the candidate's side alone.
        nights: how many each side is the mean of; None where both are the same ones.
        limits: alpha, power, and the margin.
    """
    runs = history or [_candidate_alone(cases)]
    given = assumptions_of(
        (run.observed for run in runs), runs[0].clusters, margin=limits.pass_rate_margin
    )
    asked = [case for case in cases if _draws(case.base) and _draws(case.candidate)]
    before, after = (
        max((_draws(case.sides[place]) for case in asked), default=1) for place in (0, 1)
    )
    answer = partial(
        size_answer,
        _of_these(cases, given),
        limits,
        n_cases=len(asked),
        nights=TWO_NIGHTS if nights is None else 1 / nights.n_base + 1 / nights.n_candidate,
    )
    shown = answer(repetitions=after if before == after else 2 / (1 / before + 1 / after))
    is_pair = nights is None or nights.n_base == nights.n_candidate == 1
    needed = answer(repetitions=after) if is_pair and before != after else shown
    return PlannedAnswers(shown, needed, (before, after))


def _draws(side: Pooled) -> int:
    """Return the trials of a case that were planned to be made: not those that were taken over."""
    return max(side.counts.n_scorable - side.counts.n_reused, 0)


def _of_these(cases: Sequence[PairedCase], given: Assumptions) -> Assumptions:
    """Return what is known, with how the two sides stand beside each other."""
    common = common_cases(cases)
    kappa, pair = two_runs(
        [case.cluster for case in common],
        [
            [(one.counts.n_independent_passed, one.counts.n_independent) for one in case.sides]
            for case in common
        ],
        [[(one.own.n_passed, one.own.n_scored) for one in case.sides] for case in common],
    )
    if pair is None:
        return given
    given = replace(given, pair=pair, kappa=SAME_HARD_CASES if kappa is None else kappa)
    if given.none_passed and pair.base_rate > 0:  # what the base had can be lost
        return replace(given, pass_rate=pair.base_rate, pass_rate_seen=pair.base_rate)
    return given


def _candidate_alone(cases: Sequence[PairedCase]) -> ModelRun:
    """Return the candidate's side as a run."""
    asked = {f"{case.case.suite_id}/{case.case.case_id}": case for case in cases}
    seen = {
        name: ObservedCase(
            None,
            case.candidate.counts.n_independent,
            case.candidate.counts.n_independent_passed,
            case.candidate.answers.is_repeated,
            case.candidate.answers.is_identical,
        )
        for name, case in asked.items()
    }
    return ModelRun(
        n_cases=len(cases),
        repetitions=max((_draws(case.candidate) for case in cases), default=1),
        observed=ObservedRun(("candidate",), seen),
        clusters={name: case.cluster for name, case in asked.items()},
    )

"""Which trials of a run are worth reading: those that flipped, those that failed, some others.

Chosen in the lake with a limit, so that a run of a million trials costs no more memory than one
of a hundred. The order is a promise: the same lake gives the same trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from analyze.compare.run_facts import among
from analyze.query.session import Session
from analyze.report.context import Asked
from schemas.output.report import Flip

MOST_SAMPLED = 3
"""Trials of a model among those that neither failed nor went wrong."""

IS_BAD = "(coalesce(not passed, false) or not is_success)"

CHOOSE = f"""
with ended as (
    select model_id, case_id, repetition, record_no, {IS_BAD} as is_bad
    from trials
    where run_id = ?
),

first_cases as (
    select model_id, is_bad, unnest(min(case_id, ?)) as case_id
    from (select distinct model_id, is_bad, case_id from ended)
    group by model_id, is_bad
),

placed as (
    select
        *,
        row_number() over (
            partition by model_id, is_bad, case_id order by repetition
        ) as place
    from ended
    semi join first_cases using (model_id, is_bad, case_id)
),

turns as (
    select
        *,
        row_number() over (partition by model_id, is_bad order by place, case_id) as turn
    from placed
)

select model_id, case_id, repetition, record_no, is_bad
from turns
where is_bad or turn <= {MOST_SAMPLED}
order by is_bad desc, turn, model_id
limit ?
"""  # noqa: S608 - our own names
"""Models take turns; each goes through its cases before it comes to a second trial of one."""


class TrialKey(NamedTuple):
    """What names a trial."""

    run_id: str
    model_id: str
    case_id: str
    repetition: int


@dataclass(frozen=True)
class ChosenTrial:
    """One trial that is to be shown."""

    key: TrialKey
    record_no: int
    why: Literal["flipped", "failed", "sampled"]
    is_baseline: bool = False


@dataclass(frozen=True)
class Choice:
    """Trials in the order in which they are shown as long as there is room."""

    trials: Sequence[ChosenTrial]
    n_not_passed: int
    """Trials of the run that failed or did not pass."""
    n_worth: int
    """Of them and of those that flipped."""


def choose_trials(asked: Asked, flips: Sequence[Flip], most: int) -> Choice:
    """Return the trials that are shown, and how many there are.

    Args:
        asked: the run that is reported.
        flips: cases that flipped; each gives a trial of its candidate and one of its base.
        most: trials that are not of a flip; 0: none is looked for.

    Raises:
        ViewError: the lake cannot be read.
    """
    session = asked.session
    flipped = [key for flip in flips for key in _keys(flip)]
    known = _known(session, flipped)
    ours = {key for key in flipped[::2] if key in known}
    ((n_not_passed,),) = session.rows(
        f"select count(*) from trials where run_id = ? and {IS_BAD}",  # noqa: S608 - our own
        [asked.run_id],
    )
    n_passed_flips = sum(not (key.run_id == asked.run_id and known[key][1]) for key in ours)
    trials = [
        ChosenTrial(key, known[key][0], "flipped", is_baseline=bool(place % 2))
        for place, key in enumerate(flipped)
        if key in known
    ]
    if most:
        trials += [
            ChosenTrial(key, record_no, "failed" if is_bad else "sampled")
            for model_id, case_id, repetition, record_no, is_bad in session.rows(
                CHOOSE, [asked.run_id, most, most + len(ours)]
            )
            if (key := TrialKey(asked.run_id, model_id, case_id, repetition)) not in ours
        ]
    return Choice(trials, n_not_passed, n_not_passed + n_passed_flips)


def _keys(flip: Flip) -> tuple[TrialKey, TrialKey]:
    """Return the trials of a flip: the candidate's, then the base's."""
    return (
        TrialKey(
            flip.candidate_run_id,
            flip.candidate_model_id,
            flip.case_id,
            flip.candidate_repetition,
        ),
        TrialKey(flip.base_run_id, flip.model_id, flip.case_id, flip.base_repetition),
    )


def _known(session: Session, keys: Sequence[TrialKey]) -> dict[TrialKey, tuple[int, bool]]:
    """Return record_no and whether it failed or did not pass, of the trials that there are."""
    if not keys:
        return {}
    run_ids = sorted({key.run_id for key in keys})
    rows = session.rows(
        f"""
        with wanted as (
            select
                unnest(?) as run_id, unnest(?) as model_id, unnest(?) as case_id,
                unnest(?) as repetition
        )
        select run_id, model_id, case_id, repetition, record_no, {IS_BAD}
        from trials
        semi join wanted using (run_id, model_id, case_id, repetition)
        where {among(run_ids)}
        """,  # noqa: S608 - our own names
        [*map(list, zip(*keys, strict=True)), *run_ids],
    )
    return {TrialKey(*row[:4]): (row[4], row[5]) for row in rows}

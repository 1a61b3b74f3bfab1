"""Opinions of judges as the lake has them: the newest answers about the records that count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from analyze.lake.overlay import read_sql

if TYPE_CHECKING:
    from analyze.query.session import Session


Grain = Literal["answer", "judge_run", "profile"]
"""What there is one opinion of."""


class RunKey(NamedTuple):
    """A judge run of an evaluation profile."""

    evaluation_profile_id: str
    judge_run_id: str
    judge_id: str


class TrialKey(NamedTuple):
    """A trial of a run."""

    run_id: str
    model_id: str
    case_id: str
    repetition: int


class Opinion(NamedTuple):
    """What one judge said once about one trial."""

    by: RunKey
    iteration: int
    trial: TrialKey
    unit: str
    """Case, or the cluster that it is in, with its suite: what counts as one draw."""
    judge_model: str
    subject_model: str
    score: float
    threshold: float | None
    """Of the newest judgement of the trial."""
    verdicts: Mapping[str, str]
    """By expectation."""
    n_chars: int
    """Of the trial's answer."""


class PairAnswer(NamedTuple):
    """What one judge preferred in both orders of one comparison."""

    by: RunKey
    unit: str
    this_first: str
    other_first: str


def read_opinions(
    session: Session,
    run_ids: Sequence[str],
    profile: str | None = None,
    *,
    model: str | None = None,
    of: Grain = "answer",
) -> list[Opinion]:
    """Return what judges said, in a stable order; failures are left out.

    An answer of a model that was taken over from another one of these runs counts there.

    Args:
        session: the open lake.
        run_ids: whose trials.
        profile: only of this evaluation profile.
        model: only about this one, by its model_id or model string.
        of: one opinion an answer of a judge; or a judge run and trial, what its iterations come to
            by the profile's rule; or a profile and trial, of no judge run.

    Raises:
        ViewError: the lake cannot be read.
    """
    sql = read_sql(f"judges/{of}_opinions.sql").format(
        trials=read_sql("judges/trials.sql").rstrip()
    )
    rows = session.rows(sql, [list(run_ids), model, profile, profile])
    return [
        Opinion(
            by=RunKey(*row[:3]),
            iteration=row[3],
            trial=TrialKey(*row[4:8]),
            unit=row[8],
            judge_model=row[9],
            subject_model=row[10],
            score=row[11],
            threshold=row[12],
            verdicts={one["expectation"]: one["verdict"] for one in row[13] or ()},
            n_chars=row[14],
        )
        for row in rows
    ]


def read_pairs(
    session: Session,
    run_ids: Sequence[str],
    profile: str | None = None,
    model: str | None = None,
) -> list[PairAnswer]:
    """Return comparisons that were answered in both orders, in a stable order.

    Raises:
        ViewError: the lake cannot be read.
    """
    rows = session.rows(
        read_sql("judges/pairs.sql"), [list(run_ids), model, model, profile, profile]
    )
    return [PairAnswer(RunKey(*row[:3]), *row[3:]) for row in rows]

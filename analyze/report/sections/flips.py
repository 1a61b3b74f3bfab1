"""Cases whose majority of verdicts changed, each with an answer of both sides and their diff.

The answers are those of the first trial that went as most did, so that they show the change and
not the exception.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from analyze.compare.run_facts import among
from analyze.parts.answer_diff import answer_diff
from analyze.query.session import Session
from analyze.report.context import Asked
from schemas.output.comparison import CaseChange, Comparison
from schemas.output.report import Flip

MOST_FLIPS = 30

ANSWER_CHARS = 2_000
"""Of an answer beside another one; the transcript has the rest."""


class _Key(NamedTuple):
    """One case of one model, and the verdict that most of its trials have."""

    model_id: str
    suite_id: str
    case_id: str
    passed: bool


class _Trial(NamedTuple):
    """The first trial of a case in one run that has a verdict."""

    run_id: str
    repetition: int
    record_no: int
    case_hash: str | None


class _Answer(NamedTuple):
    text: str
    is_cut: bool


def flips_of(asked: Asked, most: int = MOST_FLIPS) -> tuple[Flip, ...]:
    """Return the cases that broke or were fixed, in the comparison's order: worst first.

    Args:
        asked: the run that is reported.
        most: of them.

    Raises:
        ViewError: the lake cannot be read.
    """
    comparison = asked.comparison
    if comparison is None:
        return ()
    changes = [change for change in comparison.cases if change.flip is not None][:most]
    pairs = _pairs(asked.session, comparison, changes)
    answers = _answers(asked.session, [trial for pair in pairs for trial in pair[1:]])
    return tuple(_flip(asked, *pair, answers) for pair in pairs)


def _pairs(
    session: Session, comparison: Comparison, changes: Sequence[CaseChange]
) -> list[tuple[CaseChange, _Trial, _Trial]]:
    """Return each change with a trial of the base and one of the candidate.

    Of several runs the newest counts; one of the base that asked the very same case goes first. A
    change of which the lake has no trial any more is left out.
    """
    groups = {(group.model_id, group.candidate_model_id): group for group in comparison.groups}
    before = _firsts(session, comparison.base.run_ids, map(_base_key, changes))
    after = _firsts(session, comparison.candidate.run_ids, map(_candidate_key, changes))
    pairs = []
    for change in changes:
        group = groups[change.model_id, change.candidate_model_id]
        second = _newest(after, _candidate_key(change), group.candidate.run_ids)
        first = _newest(before, _base_key(change), group.base.run_ids, second)
        if first is not None and second is not None:
            pairs.append((change, first, second))
    return pairs


def _base_key(change: CaseChange) -> _Key:
    return _Key(change.model_id, change.suite_id, change.case_id, change.flip == "broke")


def _candidate_key(change: CaseChange) -> _Key:
    return _Key(change.candidate_model_id, change.suite_id, change.case_id, change.flip == "fixed")


def _newest(
    firsts: Mapping[tuple[_Key, str], _Trial],
    key: _Key,
    run_ids: Sequence[str],
    like: _Trial | None = None,
) -> _Trial | None:
    found = [firsts[key, run_id] for run_id in run_ids if (key, run_id) in firsts]
    same = [trial for trial in found if like is not None and trial.case_hash == like.case_hash]
    best = same or found
    return best[-1] if best else None


def _firsts(
    session: Session, run_ids: Sequence[str], keys: Iterator[_Key]
) -> dict[tuple[_Key, str], _Trial]:
    """Return the first trial with a verdict of each case, in each run that has one."""
    wanted = list(keys)
    if not wanted or not run_ids:
        return {}
    rows = session.rows(
        f"""
        with wanted as (
            select
                unnest(?) as model_id, unnest(?) as suite_id, unnest(?) as case_id,
                unnest(?) as passed
        )
        select
            model_id, suite_id, case_id, passed, run_id,
            min(repetition), arg_min(record_no, repetition), arg_min(case_hash, repetition)
        from trials
        semi join wanted using (model_id, suite_id, case_id, passed)
        where {among(run_ids)}
        group by model_id, suite_id, case_id, passed, run_id
        """,  # noqa: S608 - our own names
        [*([getattr(key, name) for key in wanted] for name in _Key._fields), *run_ids],
    )
    return {(_Key(*row[:4]), row[4]): _Trial(*row[4:]) for row in rows}


def _answers(session: Session, trials: Sequence[_Trial]) -> dict[tuple[str, int], _Answer]:
    """Return the beginnings of answers, by run_id and record_no."""
    if not trials:
        return {}
    run_ids = sorted({trial.run_id for trial in trials})
    rows = session.rows(
        f"""
        with wanted as (select unnest(?) as run_id, unnest(?) as record_no)
        select
            run_id, record_no, left(raw_output, ?), coalesce(length(raw_output) > ?, false)
        from stg_outputs
        semi join wanted using (run_id, record_no)
        where {among(run_ids)}
        """,  # noqa: S608 - our own names
        [
            [trial.run_id for trial in trials],
            [trial.record_no for trial in trials],
            ANSWER_CHARS,
            ANSWER_CHARS,
            *run_ids,
        ],
    )
    return {row[:2]: _Answer(row[2] or "", row[3]) for row in rows}


def _flip(
    asked: Asked,
    change: CaseChange,
    first: _Trial,
    second: _Trial,
    answers: Mapping[tuple[str, int], _Answer],
) -> Flip:
    base, candidate = (
        answers.get((trial.run_id, trial.record_no), _Answer("", is_cut=False))
        for trial in (first, second)
    )
    assert change.flip is not None
    return Flip(
        suite_id=change.suite_id,
        case_id=change.case_id,
        model_id=change.model_id,
        candidate_model_id=change.candidate_model_id,
        flip=change.flip,
        base_passed=change.base_passed,
        base_scored=change.base_scored,
        candidate_passed=change.candidate_passed,
        candidate_scored=change.candidate_scored,
        base_run_id=first.run_id,
        base_repetition=first.repetition,
        base_answer=base.text,
        candidate_run_id=second.run_id,
        candidate_repetition=second.repetition,
        candidate_answer=candidate.text,
        is_cut=base.is_cut or candidate.is_cut,
        diff=answer_diff(base.text, candidate.text),
        commands=tuple(
            asked.command("show", trial.run_id, change.case_id, model_id, str(trial.repetition))
            for trial, model_id in ((first, change.model_id), (second, change.candidate_model_id))
        ),
    )

"""Cases whose majority of verdicts changed, each with an answer of both sides and their diff.

The answers are those of the first trial that went as most did, so that they show the change and not
the exception. They are compared by words where both are short and by lines otherwise, as people
read them. What neighbours of one kind say is joined for the eye: the parts still give both answers
back, character by character.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby, islice, takewhile
from typing import Literal, NamedTuple

from analyze.comparison.evidence.outcomes import of_runs
from analyze.query.session import Session
from analyze.report.sections import ReportContext
from schemas.base import same_fields
from schemas.output.comparison import CaseChange, Comparison
from schemas.output.report_trials import DiffPart, Flip

MAX_WORDS = 800
"""Of an answer that is compared by words, and the spaces between them."""

MAX_PAIRS = 20_000
"""Pairs of the same word or line on both sides; past it the search would take seconds."""

CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese, Japanese and Korean, where one character is what a short word is elsewhere."""

WORD = re.compile(rf"\s+|[{CJK}]|[^\s{CJK}]+")
"""A word, the space between two, or one such character."""

Kind = Literal["same", "base", "candidate"]

MAX_FLIPS = 30

MAX_ANSWER_CHARS = 2_000
"""Of an answer beside another one; the transcript has the rest."""


def answer_diff(base: str, candidate: str) -> tuple[DiffPart, ...]:
    """Return both answers in reading order.

    `same` and `base` joined are the base's answer, `same` and `candidate` the candidate's. No two
    neighbours are of one kind, none is empty, and what the base said stands first.

    Args:
        base: an answer of the base.
        candidate: one of the candidate.
    """
    words = _words(base), _words(candidate)
    if words[0] is None or words[1] is None:
        pieces = base.splitlines(keepends=True), candidate.splitlines(keepends=True)
    else:
        pieces = words[0], words[1]
    return tuple(_joined(_parts(*pieces)))


def _words(text: str) -> list[str] | None:
    """Return the words of a short text; None of a long one."""
    found = [match[0] for match in islice(WORD.finditer(text), MAX_WORDS + 1)]
    return found if len(found) <= MAX_WORDS else None


def _parts(base: Sequence[str], candidate: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    """Yield what is said, piece by piece; the ends that are the same are not searched."""
    begin = _n_same(base, candidate)
    end = _n_same(base[begin:][::-1], candidate[begin:][::-1])
    middle = base[begin : len(base) - end], candidate[begin : len(candidate) - end]
    yield "same", "".join(base[:begin])
    yield from _searched(*middle)
    yield "same", "".join(base[len(base) - end :])


def _n_same(base: Sequence[str], candidate: Sequence[str]) -> int:
    """Return how many pieces at the beginning are the same."""
    pairs = zip(base, candidate, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _searched(base: Sequence[str], candidate: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    counts = Counter(piece for piece in candidate if not piece.isspace())
    if sum(counts[piece] for piece in base) > MAX_PAIRS:
        yield from (("base", "".join(base)), ("candidate", "".join(candidate)))
        return
    matcher = SequenceMatcher(str.isspace, base, candidate, autojunk=False)
    for what, i1, i2, j1, j2 in matcher.get_opcodes():
        if what == "equal":
            yield "same", "".join(base[i1:i2])
        else:
            yield "base", "".join(base[i1:i2])
            yield "candidate", "".join(candidate[j1:j2])


def _joined(parts: Iterator[tuple[Kind, str]]) -> Iterator[DiffPart]:
    """Yield parts with neighbours of one kind as one, and without empty ones."""
    there = ((kind, text) for kind, text in parts if text)
    for _, neighbours in groupby(there, key=lambda part: part[0] == "same"):
        texts: dict[Kind, list[str]] = {"same": [], "base": [], "candidate": []}
        for kind, text in neighbours:
            texts[kind].append(text)
        yield from (DiffPart(kind=kind, text="".join(of)) for kind, of in texts.items() if of)


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


def flips_of(context: ReportContext, most: int = MAX_FLIPS) -> tuple[Flip, ...]:
    """Return the cases that broke or were fixed, in the comparison's order: worst first.

    Args:
        context: the run that is reported.
        most: of them.

    Raises:
        ViewError: the lake cannot be read.
    """
    comparison = context.comparison
    if comparison is None:
        return ()
    changes = [change for change in comparison.cases if change.flip is not None][:most]
    pairs = _pairs(context.session, comparison, changes)
    answers = _answers(context.session, [trial for pair in pairs for trial in pair[1:]])
    return tuple(_flip(context, *pair, answers) for pair in pairs)


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
        where {of_runs(run_ids)}
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
        where {of_runs(run_ids)}
        """,  # noqa: S608 - our own names
        [
            [trial.run_id for trial in trials],
            [trial.record_no for trial in trials],
            MAX_ANSWER_CHARS,
            MAX_ANSWER_CHARS,
            *run_ids,
        ],
    )
    return {row[:2]: _Answer(row[2] or "", row[3]) for row in rows}


def _flip(
    context: ReportContext,
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
        **same_fields(
            change,
            "suite_id case_id model_id candidate_model_id flip base_passed base_scored "
            "candidate_passed candidate_scored",
        ),
        base_run_id=first.run_id,
        base_repetition=first.repetition,
        base_answer=base.text,
        candidate_run_id=second.run_id,
        candidate_repetition=second.repetition,
        candidate_answer=candidate.text,
        is_cut=base.is_cut or candidate.is_cut,
        diff=answer_diff(base.text, candidate.text),
        commands=tuple(
            context.command("show", trial.run_id, change.case_id, model_id, str(trial.repetition))
            for trial, model_id in ((first, change.model_id), (second, change.candidate_model_id))
        ),
    )

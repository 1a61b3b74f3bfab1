"""Which trials people should label next, as a sheet to fill in.

A correction takes the labelled cases for a random sample, so what would help most is the next case
of a random order, one trial of each before a second of any. Trials that look doubtful would teach
more about the judge and less about the rate: a sample of them is none of the rest. The order is
always the same for the same trials, so that sheets go on where others ended.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from analyze.judges.opinions import Opinion, TrialKey
from analyze.lake.overlay import read_sql

if TYPE_CHECKING:
    from analyze.query.session import Session

COLUMNS = ("run_id", "model_id", "case_id", "repetition", "annotator", "label", "answer")

MAX_ANSWER_CHARS = 2_000

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a text that begins so for a formula."""


class SheetRow(NamedTuple):
    """One trial to label; without the judge's word, which would lead whoever reads it."""

    trial: TrialKey
    answer: str


def next_trials(
    judged: Iterable[Opinion], labelled: Collection[TrialKey], n: int
) -> list[TrialKey]:
    """Return the trials to label next, at most `n`.

    Args:
        judged: what judges come to, one or more a trial.
        labelled: trials with a label; their cases come after those without one.
        n: how many.
    """
    units = {one.trial: one.unit for one in judged}
    n_before: dict[str, int] = {}
    for trial in labelled:
        if trial in units:
            n_before[units[trial]] = n_before.get(units[trial], 0) + 1
    places: list[tuple[int, str, TrialKey]] = []
    for trial in sorted(units, key=_shuffled):
        if trial in labelled:
            continue
        unit = units[trial]
        places.append((n_before.get(unit, 0), _shuffled(unit), trial))
        n_before[unit] = n_before.get(unit, 0) + 1
    return [trial for *_, trial in sorted(places, key=lambda one: one[:2])[:n]]


def _shuffled(what: object) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()


def sheet_rows(session: Session, trials: Sequence[TrialKey]) -> list[SheetRow]:
    """Return the rows of a sheet, with the answers that are to be labelled.

    Raises:
        ViewError: the lake cannot be read.
    """
    wanted = [list(map(str, trial)) for trial in trials]
    rows = session.rows(read_sql("judges/answers.sql"), [MAX_ANSWER_CHARS, wanted])
    answers = {TrialKey(*row[:4]): row[4] for row in rows}
    return [SheetRow(trial, answers.get(trial) or "") for trial in trials]


def sheet_text(rows: Iterable[SheetRow]) -> str:
    """Return a sheet as CSV, safe to open in a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([*row.trial, "", "", _harmless(row.answer)])
    return out.getvalue()


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) else text

"""The two sides of a comparison whose base may be several past runs, as a gate has them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from analyze.comparison.evidence.run_sets import (
    BASE_WORDS,
    ChosenSide,
    asks_levels,
    resolve_sides,
)

if TYPE_CHECKING:
    from analyze.query.session import Session
    from schemas.config.known_issues import KnownFile, ShiftMetric
    from schemas.config.project import Thresholds
    from schemas.output.comparison import Axis

LEVELS_OF: tuple[ShiftMetric, ...] = ("passed_rate",)
"""Whose levels the runs of a comparison are of."""


def resolve_compared(
    session: Session,
    base: str,
    candidate: str | None = None,
    *,
    limits: Thresholds,
    model: str | None = None,
    against: str | None = None,
    allow: Collection[Axis] = (),
    known: KnownFile | None = None,
    words: Sequence[str] = BASE_WORDS,
) -> tuple[ChosenSide, ChosenSide]:
    """Return the base and the candidate of a comparison, several past runs as a gate has them.

    Every metric is held against the runs that a gate holds the pass rate against. Where no run has
    verdicts enough for a gate, `last:N` are simply the last ones: the comparison says what they
    lack.

    Args:
        session: the open lake.
        base: what `resolve_sides` takes as a base, or `history`.
        candidate: what it takes as a candidate.
        limits: in force; a level shift is one beyond their margin.
        model: only this one, by its model_id or model string; with `against` the base's.
        against: the candidate's model, where two models are compared; then `last:N` are simply
            the last runs of the base's.
        allow: axes on which a difference keeps nothing out.
        known: acknowledged shifts stand no more.
        words: what the caller takes for a base, for messages.

    Raises:
        RunNotFound: there is no such run; names what is near.
        ConfigError: a side means nothing, or both mean the same.
    """
    first, second = resolve_sides(
        session, base, candidate, model=model, against=against, words=words
    )
    if against is not None or first.only is None or not asks_levels(base):
        return first, second
    from analyze.gate.baseline import NoUsableRun, resolve_baseline  # noqa: PLC0415 - loads numpy
    from analyze.regressions.open_shifts import find_open_shifts  # noqa: PLC0415 - as above
    from analyze.regressions.series import Histories  # noqa: PLC0415 - as above

    histories = Histories(session, LEVELS_OF, allow=allow)
    opened = find_open_shifts(
        session,
        second.run_ids,
        limits=limits,
        metrics=LEVELS_OF,
        model=model,
        allow=allow,
        known=known,
        histories=histories,
    )
    try:
        (found,), second = resolve_baseline(
            session,
            base,
            second.asked,
            limits=limits,
            model=model,
            allow=allow,
            opened=opened.shifts,
            histories=histories,
        )
    except NoUsableRun:
        return first, second
    return found.runs, second

"""What else changed with a shift: between the runs around it, nearest to it first.

A scan may place a break a run or two away from where the level really moved, so what changed at a
neighbouring run is named as well, with that run. Nothing here decides anything: it names what to
look at first, so that a new judge or another machine is not taken for a worse model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, get_args

from analyze.comparison.evidence.outcomes import CaseOutcome, read_outcomes
from analyze.comparison.evidence.run_sets import ChosenSide
from analyze.comparison.pairing import Pairing, pair
from schemas.config.known_issues import ShiftMetric
from schemas.output.comparison import Axis, AxisReport

if TYPE_CHECKING:
    from analyze.query.session import Session
    from analyze.regressions.points import Point

AXES: frozenset[Axis] = frozenset(get_args(Axis))

NAMED: frozenset[Axis] = frozenset({"served_model", "routing"})
"""Axes whose values are names that people know; the others are hashes."""

MAX_VALUES = 3

MAX_CACHED_POINTS = 32
"""Points that are kept once read: alerts come newest first, so neighbours follow each other.
Beyond, all are let go of, so that no history fills the memory."""

INSTEAD: Mapping[ShiftMetric, Mapping[str, str]] = {
    "passed_rate": {
        "judge": "the judge changed {along}, so what it says may have shifted and not the model",
        "harness": "what runs the model changed {along}, so that may have shifted and not the "
        "model",
        "served_model": "the server says that it serves another model {since}",
    },
    "e2e_ms": {
        "machine": "the machine that measured changed {along}, so the times may be its own",
        "endpoint": "another endpoint answers {since}, so the times may be its own",
        "served_model": "the server says that it serves another model {since}",
    },
    "cost_usd": {"served_model": "the server says that it serves another model {since}"},
}
"""Where something else than the model is likely to have shifted."""


class Change(NamedTuple):
    """One thing that changed."""

    name: str
    words: str
    run_id: str | None
    """The run it changed in; None: the first run of the new level itself."""

    @property
    def full_text(self) -> str:
        """It in words, with the run it changed in where that is a neighbour."""
        return self.words if self.run_id is None else f"{self.words} (in {self.run_id})"


class Explainer:
    """Compares neighbouring points; what was read for one shift serves the next."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._outcomes: dict[str, dict[str, list[CaseOutcome]]] = {}

    def changed(
        self,
        before: Sequence[Point],
        since: Sequence[Point],
        model_id: str,
        case_id: str | None = None,
    ) -> list[Change]:
        """Return what changed for a model around a shift.

        Each thing is named once: where it changed nearest to the shift. Points are the oldest
        first; with a case only what is about it is told.
        """
        near, first = [*before, *since], len(before)
        self._read(near)
        pairs = [(abs(place - first), place) for place in range(1, len(near))]
        found: dict[str, Change] = {}
        for _, place in sorted(pairs):
            run_id = None if place == first else near[place].run_id
            for name, words in self._between(near[place - 1], near[place], model_id, case_id):
                found.setdefault(name, Change(name, words, run_id))
        return list(found.values())

    def _between(
        self, old: Point, new: Point, model_id: str, case_id: str | None
    ) -> Iterator[tuple[str, str]]:
        """Yield the name of what differs between two points, and how it is told; the axes first."""
        pairing = pair(
            self._rows(old, model_id, case_id),
            self._rows(new, model_id, case_id),
            ChosenSide(old.run_id, old.run_ids),
            ChosenSide(new.run_id, new.run_ids),
            allow=AXES,
        )
        for axis in pairing.axes:
            if axis.n_differ:
                yield axis.axis, _axis_words(axis, pairing)
        for group in pairing.groups:
            if group.base.key.model != group.candidate.key.model:
                yield "model", f"model: {group.base.key.model} -> {group.candidate.key.model}"
        for name, was, became in (
            ("machine", old.machines, new.machines),
            ("benchlake_version", old.versions, new.versions),
        ):
            if was and became and was != became:
                yield name, f"{name}: {_values(was)} -> {_values(became)}"

    def _rows(self, point: Point, model_id: str, case_id: str | None) -> list[CaseOutcome]:
        rows = self._outcomes[point.run_id].get(model_id, [])
        return rows if case_id is None else [row for row in rows if row.case.case_id == case_id]

    def _read(self, points: Sequence[Point]) -> None:
        """Read what is not known yet of some points, at once."""
        if len(self._outcomes) > MAX_CACHED_POINTS:
            self._outcomes.clear()
        missing = [point for point in points if point.run_id not in self._outcomes]
        point_of = {run_id: point.run_id for point in missing for run_id in point.run_ids}
        self._outcomes |= {point.run_id: {} for point in missing}
        for row in read_outcomes(self._session, list(point_of)):
            of_point = self._outcomes[point_of[row.run_id]]
            of_point.setdefault(row.key.model_id, []).append(row)


def _axis_words(report: AxisReport, pairing: Pairing) -> str:
    n_cases = sum(len(group.cases) for group in pairing.groups)
    part = f" ({report.n_differ} of {n_cases} cases)" if report.n_differ < n_cases else ""
    if report.axis in NAMED and report.base and report.candidate:
        return f"{report.axis}: {_values(report.base)} -> {_values(report.candidate)}{part}"
    return f"{report.axis}{part}"


def _values(values: tuple[str, ...]) -> str:
    more = len(values) - MAX_VALUES
    return ", ".join(values[:MAX_VALUES]) + (f" and {more} more" if more > 0 else "")


def warnings_of(metric: ShiftMetric, changed: Sequence[Change]) -> tuple[str, ...]:
    """Return what speaks against a shift being the model's own."""
    run_of = {change.name: change.run_id for change in changed}
    return tuple(
        text.format(along=_along(run_of[name]), since=_since(run_of[name]))
        for name, text in INSTEAD[metric].items()
        if name in run_of
    )


def _along(run_id: str | None) -> str:
    return "with it" if run_id is None else f"close to it (in {run_id})"


def _since(run_id: str | None) -> str:
    return "since" if run_id is None else f"since {run_id}"

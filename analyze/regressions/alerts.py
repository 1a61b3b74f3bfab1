"""Alerts: what shifted in a history, each shift once, with what to look at first.

A cell that shifted with its series is named in that one alert. What `--since` leaves out is
computed like the rest, so that an alert does not depend on what is shown. An entry of a file of
known things silences an alert; those that silence none are told.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from analyze.aliases import find_renames, read_ids
from analyze.regressions.cells import MIN_BREAK_DISTANCE, may_lie_at
from analyze.regressions.detect import METRICS, Found, FoundShift, find_all
from analyze.regressions.explain import Explainer, warnings_of
from analyze.regressions.judged_levels import judged_levels
from analyze.regressions.points import moment_of, since_ms
from analyze.regressions.series import read_history
from schemas.base import same_fields
from schemas.output.regressions import CellShift, Regressions, Series, Shift

if TYPE_CHECKING:
    from analyze.query.session import Session
    from analyze.regressions.cells import FoundCell
    from analyze.regressions.detect import ScanProgress
    from analyze.regressions.points import Point
    from analyze.regressions.series import History
    from analyze.stats.changepoints.scan import Ints
    from schemas.config.known_issues import Acknowledged, KnownFile, ShiftMetric
    from schemas.output.comparison import Axis, ThresholdsUsed
    from schemas.output.score_drift import JudgedLevel

    Names = dict[tuple[str, str], tuple[str, str, str | None]]


class Entries:
    """The entries of one file; remembers which of them were of use."""

    def __init__(self, known: KnownFile | None) -> None:
        self._entries = known.acknowledged if known else ()
        self._used: set[int] = set()

    def of_shift(self, found: FoundShift) -> Acknowledged | None:
        """Return the entry that silences an alert of a series; of several the first.

        Its first run moves by a run when the way levels are found changes, so an entry holds for
        the points of the series on either side as well.
        """
        near = _near(found)
        return self._first(
            lambda entry: (
                entry.case_id is None
                and (entry.suite_id, entry.model_id) == (found.suite_id, found.model_id)
                and (entry.metric, entry.direction) == (found.metric, found.shift.direction)
                and entry.first_run in near
            )
        )

    def of_cell(self, found: FoundCell) -> Acknowledged | None:
        """Return the entry that silences an alert of a cell; of several the first.

        Its first run moves a little as runs follow, so one that it may as well be is enough.
        """
        cell = found.cell
        return self._first(
            lambda entry: (
                (entry.suite_id, entry.model_id, entry.case_id)
                == (cell.suite_id, cell.model_id, cell.case_id)
                and (entry.metric, entry.direction) == ("passed_rate", found.direction)
                and (first := _place_in(found, entry.first_run)) is not None
                and may_lie_at(found, first)
            )
        )

    def _first(self, silences: Callable[[Acknowledged], bool]) -> Acknowledged | None:
        """Return the first entry that silences; all that do are of use."""
        places = [place for place, entry in enumerate(self._entries) if silences(entry)]
        self._used.update(places)
        return self._entries[places[0]] if places else None

    def unused(
        self,
        suite: str | None,
        model_ids: Collection[str] | None,
        *,
        metrics: Collection[ShiftMetric] | None = None,
        beyond: Collection[str] = (),
    ) -> tuple[Acknowledged, ...]:
        """Return the entries about a suite and some models, or about all, that silence nothing.

        Args:
            suite: of the entries; None: any.
            model_ids: of the entries; None: any.
            metrics: of series that were looked at, and no single case was; None: all was.
            beyond: runs that were not looked at: an entry of one of them may fit a shift there.
        """
        return tuple(
            entry
            for place, entry in enumerate(self._entries)
            if place not in self._used
            and suite in (None, entry.suite_id)
            and (model_ids is None or entry.model_id in model_ids)
            and (metrics is None or (entry.case_id is None and entry.metric in metrics))
            and entry.first_run not in beyond
        )


def _near(found: FoundShift) -> set[str]:
    """Return the runs of the first point of a level and of the points next to it."""
    at = int(np.searchsorted(found.places, found.shift.at))
    near = found.places[max(at - 1, 0) : at + 2].tolist()
    return {run_id for place in near for run_id in found.points[place].run_ids}


def _place_in(found: FoundCell, run_id: str) -> int | None:
    """Return the place of a run among the points of a series; None: it is not in it."""
    points = enumerate(found.cell.points)
    return next((place for place, point in points if run_id in point.run_ids), None)


def find_regressions(
    session: Session,
    *,
    limits: ThresholdsUsed,
    since: str | None = None,
    allow: Collection[Axis] = (),
    known: KnownFile | None = None,
    suite: str | None = None,
    model: str | None = None,
    progress: ScanProgress | None = None,
    history: History | None = None,
) -> Regressions:
    """Return every shift of a history.

    Args:
        session: the open lake.
        limits: margins below which a shift is none.
        since: only shifts that began at or after this run, day, or so long ago.
        allow: with `case`, a case is the same whatever its content.
        known: shifts that need no alert.
        suite: only this suite.
        model: only this one, by its model_id or model string.
        progress: is told what is done, how much of it, and how much there is.
        history: what all this selects, where it is read already.

    Raises:
        ConfigError: `since` means nothing.
    """
    from_ms = None if since is None else since_ms(session, since)
    if history is None:
        history = read_history(
            session, METRICS, suite=suite, model=model, allow=allow, progress=progress
        )
    found = find_all(history, limits.thresholds, progress=progress)
    entries = Entries(read_ids(session).with_newest_ids(known))
    acks = {id(one): entries.of_shift(one) for one in found.shifts}
    cell_acks = {id(one): entries.of_cell(one) for one in found.cell_shifts}
    with_series = {id(one): _series_shift_of(one, found.shifts) for one in found.cell_shifts}
    explainer, names = Explainer(session), _names(session)
    shifts = [
        _alert(
            one,
            found,
            explainer,
            names,
            cells=[cell for cell in found.cell_shifts if with_series[id(cell)] is one],
            judged=tuple(judged_levels(session, one, history.clusters, limits.thresholds.alpha))
            if one.metric == "passed_rate"
            else (),
            acknowledged=acks[id(one)],
        )
        for one in sorted(found.shifts, key=_shift_order)
        if _is_shown(one.first, from_ms)
    ]
    cell_shifts = [
        _cell_alert(one, explainer, cell_acks[id(one)])
        for one in sorted(found.cell_shifts, key=_cell_order)
        if with_series[id(one)] is None and _is_shown(one.cell.points[one.at], from_ms)
    ]
    return Regressions(
        limits=limits,
        since=since,
        n_runs=found.n_runs,
        n_series=found.n_series,
        n_cells=found.n_cells,
        shifts=tuple(shifts),
        cell_shifts=tuple(cell_shifts),
        skipped=tuple(found.skipped),
        unused=entries.unused(suite, found.model_ids if model else None),
        renames=() if "case" in allow else find_renames(session, suite),
    )


def _is_shown(first: Point, from_ms: int | None) -> bool:
    return from_ms is None or moment_of(first) >= from_ms


def _shift_order(found: FoundShift) -> tuple[object, ...]:
    """Order the newest first, and what is worse before what is better."""
    return (
        -(found.first.started_at_ms or 0),
        not _is_worse(found),
        found.suite_id,
        found.metric != "passed_rate",
        found.metric,
        found.model_id,
    )


def _cell_order(found: FoundCell) -> tuple[object, ...]:
    first = found.cell.points[found.at]
    cell = found.cell
    return (
        -(first.started_at_ms or 0),
        found.direction != "down",
        cell.suite_id,
        cell.model_id,
        cell.case_id,
    )


def _is_worse(found: FoundShift) -> bool:
    return found.shift.direction == ("down" if found.metric == "passed_rate" else "up")


def _series_shift_of(cell: FoundCell, shifts: Sequence[FoundShift]) -> FoundShift | None:
    """Return the shift of its series that a cell is part of; None: it shifted by itself."""
    of_series = [
        one
        for one in shifts
        if (one.suite_id, one.model_id) == (cell.cell.suite_id, cell.cell.model_id)
        and one.metric == "passed_rate"
        and one.shift.direction == cell.direction
        and may_lie_at(cell, one.shift.at)
    ]
    return min(of_series, key=lambda one: abs(one.shift.at - cell.at), default=None)


def _alert(
    found: FoundShift,
    among: Found,
    explainer: Explainer,
    names: Names,
    *,
    cells: Sequence[FoundCell],
    judged: tuple[JudgedLevel, ...],
    acknowledged: Acknowledged | None,
) -> Shift:
    shift, first, before = found.shift, found.first, found.last_before
    near = _around(found.points, found.places, shift.last_before, shift.at)
    changed = explainer.changed(*near, found.model_id)
    provider, model, thinking_level = names[found.suite_id, found.model_id]
    return Shift(
        series=Series(
            suite_id=found.suite_id,
            model_id=found.model_id,
            metric=found.metric,
            provider=provider,
            model=model,
            thinking_level=thinking_level,
        ),
        method="scan" if found.metric == "passed_rate" else "t_scan",
        **same_fields(shift, "direction n_before n_after before after size low high p"),
        is_worse=_is_worse(found),
        first_run=first.run_id,
        first_started_at_ms=first.started_at_ms,
        last_run_before=before.run_id,
        seen_in=found.points[shift.seen_at].run_id,
        n_cases=found.n_cases,
        n_clusters=found.n_clusters,
        changed=tuple(change.full_text for change in changed),
        together=_together(found, among),
        cells=tuple(cell.cell.case_id for cell in cells),
        warnings=warnings_of(found.metric, changed),
        judged=judged,
        acknowledged=acknowledged,
    )


def _around(
    points: Sequence[Point], places: Ints, last_before: int, first: int
) -> tuple[list[Point], list[Point]]:
    """Return the points next to a break on either side, of those that say something."""
    before = places[places <= last_before][-MIN_BREAK_DISTANCE:]
    since = places[places >= first][:MIN_BREAK_DISTANCE]
    return [points[place] for place in before], [points[place] for place in since]


def _together(found: FoundShift, among: Found) -> tuple[str, ...]:
    """Return the other models of the suite whose same metric shifted the same way with it."""
    at = among.place[found.first.run_id]
    return tuple(
        sorted(
            {
                one.model_id
                for one in among.shifts
                if one.model_id != found.model_id
                and (one.suite_id, one.metric) == (found.suite_id, found.metric)
                and one.shift.direction == found.shift.direction
                and abs(among.place[one.first.run_id] - at) < MIN_BREAK_DISTANCE
            }
        )
    )


def _cell_alert(
    found: FoundCell, explainer: Explainer, acknowledged: Acknowledged | None
) -> CellShift:
    cell, split = found.cell, found.split
    first, before = cell.points[found.at], cell.points[found.last_before]
    near = _around(cell.points, cell.places, found.last_before, found.at)
    changed = explainer.changed(*near, cell.model_id, cell.case_id)
    return CellShift(
        suite_id=cell.suite_id,
        model_id=cell.model_id,
        case_id=cell.case_id,
        direction=found.direction,
        is_worse=found.direction == "down",
        first_bad_run=first.run_id,
        last_run_before=before.run_id,
        n_runs=found.n_runs,
        **same_fields(split, "before_passed before_scored after_passed after_scored p"),
        q=found.q,
        changed=tuple(change.full_text for change in changed),
        warnings=warnings_of("passed_rate", changed),
        acknowledged=acknowledged,
    )


def _names(session: Session) -> Names:
    """Return provider, model and thinking level of each series, as its newest run has them."""
    rows = session.rows(
        "select suite_id, model_id, provider, model, thinking_level from int_group_models "
        "order by run_rank, provider, model, thinking_level nulls first"
    )
    return {(suite_id, model_id): tuple(rest) for suite_id, model_id, *rest in rows}

"""Which entry of a file of known things silences which alert, and which silence none."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import numpy as np

from analyze.shifts.break_place import may_lie_at

if TYPE_CHECKING:
    from analyze.regressions.cells import FoundCell
    from analyze.regressions.detect import FoundShift
    from schemas.config.known_issues import Acknowledged, KnownFile, ShiftMetric


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
    for place, point in enumerate(found.cell.points):
        if run_id in point.run_ids:
            return place
    return None

"""How flaky each cell is: the chance that two trials of it disagree although nothing changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.aliases.ids import read_ids
from analyze.regressions.detect import Found, find_all
from analyze.shifts.newest_trials import Key, Trials, newest_trials
from analyze.stats.flip_rate import flip_limits, flip_rate, steadiness
from schemas.output.regressions import Flaky, FlakyCell

if TYPE_CHECKING:
    from analyze.query.session import Session
    from analyze.regressions.cells import Cell, FoundCell
    from analyze.regressions.detect import Tell
    from schemas.config.known_issues import KnownFile, ShiftMetric
    from schemas.output.comparison import ThresholdsUsed

METRICS: tuple[ShiftMetric, ...] = ("passed_rate",)

ORDER = {"flaky": 0, "unknown": 1, "steady": 2}


def find_flaky(
    session: Session,
    *,
    limits: ThresholdsUsed,
    known: KnownFile | None = None,
    suite: str | None = None,
    model: str | None = None,
    tell: Tell | None = None,
) -> Flaky:
    """Return every cell that the newest run of its series asks, flaky ones first.

    Args:
        session: the open lake.
        limits: margin below which a shift is none.
        known: quarantined cases.
        suite: only this suite.
        model: only this one, by its model_id or model string.
        tell: is told what is done, how much of it, and how much there is.
    """
    found = find_all(
        session, limits.thresholds, metrics=METRICS, suite=suite, model=model, tell=tell
    )
    shifted = {_key(one.cell): one for one in found.cell_shifts}
    since = {_key(cell): _since(found, cell, shifted.get(_key(cell))) for cell in found.cells}
    trials = newest_trials(session, found.points, since, model=model, tell=tell)
    known = read_ids(session).known(known)
    cells = [
        _flaky_cell(key, trials[key], shifted.get(key), is_known=_is_quarantined(known, key))
        for key in since
        if key in trials
    ]
    cells.sort(key=_order)
    counts = [cell.steadiness for cell in cells]
    return Flaky(
        limits=limits,
        n_cells=len(cells),
        n_flaky=counts.count("flaky"),
        n_steady=counts.count("steady"),
        n_unknown=counts.count("unknown"),
        cells=tuple(cells),
    )


def _key(cell: Cell) -> Key:
    return cell.suite_id, cell.model_id, cell.case_id


def _since(found: Found, cell: Cell, shift: FoundCell | None) -> int:
    """Return the place of the first point since the last shift of a cell or its series."""
    places = [0]
    if (first := found.shifted_at.get((cell.suite_id, cell.model_id))) is not None:
        places.append(found.place[first.run_id])
    if shift is not None:
        places.append(found.place[cell.points[shift.at].run_id])
    return max(places)


def _flaky_cell(key: Key, trials: Trials, shift: FoundCell | None, *, is_known: bool) -> FlakyCell:
    suite_id, model_id, case_id = key
    low, high = flip_limits(trials.k, trials.n) or (None, None)
    is_worse = shift is not None and shift.direction == "down"
    return FlakyCell(
        suite_id=suite_id,
        model_id=model_id,
        case_id=case_id,
        steadiness=steadiness(trials.k, trials.n),
        n_trials=trials.n,
        n_passed=trials.k,
        flip_rate=flip_rate(trials.k, trials.n),
        low=low,
        high=high,
        n_runs=len(trials.points),
        first_run=trials.points[0].run_id,
        last_run=trials.points[-1].run_id,
        first_bad_run=shift.cell.points[shift.at].run_id if shift and is_worse else None,
        quarantined=is_known,
    )


def _is_quarantined(known: KnownFile | None, key: Key) -> bool:
    suite_id, model_id, case_id = key
    return known is not None and any(
        (entry.suite_id, entry.case_id) == (suite_id, case_id)
        and entry.model_id in (None, model_id)
        for entry in known.quarantined
    )


def _order(cell: FlakyCell) -> tuple[object, ...]:
    rate = -1.0 if cell.flip_rate is None else cell.flip_rate
    return ORDER[cell.steadiness], -rate, cell.suite_id, cell.model_id, cell.case_id

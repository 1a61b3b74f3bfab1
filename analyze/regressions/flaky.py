"""How flaky each cell is: the chance that two trials of it disagree although nothing changed.

It is counted on the newest trials that were asked exactly the same: those under the fingerprint of
the newest run that has any, not reused ones, the newest 50. Of a run that would pass that number
its last repetitions count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analyze.aliases import read_ids
from analyze.regressions.detect import Found, find_all
from analyze.regressions.points import CellRows, read_cell_rows
from analyze.regressions.series import read_history
from analyze.stats.rates import flip_limits, flip_rate, steadiness
from schemas.output.regressions import Flaky, FlakyCell

if TYPE_CHECKING:
    from analyze.query.session import Session
    from analyze.regressions.cells import Cell, FoundCell
    from analyze.regressions.detect import ScanProgress
    from analyze.regressions.points import Point
    from schemas.config.known_issues import KnownFile, ShiftMetric
    from schemas.output.comparison import ThresholdsUsed

MAX_TRIALS = 50
MAX_RUNS = 200
"""Runs of a suite in which the newest trials are looked for."""

NUMBERS = {
    "n": "n_independent",
    "k": "n_independent_passed",
    "fingerprint": (
        "cast(hash(settings, endpoint, harness, tools, model_build, agent, image) >> 2 as bigint)"
    ),
}
"""`settings` and the case_hash beside it are of the first repetition, which holds for all."""

Key = tuple[str, str, str]
"""suite_id, model_id, case_id."""

METRICS: tuple[ShiftMetric, ...] = ("passed_rate",)

ORDER = {"flaky": 0, "unknown": 1, "steady": 2}


@dataclass(frozen=True)
class Trials:
    """What the newest trials of a cell came to; `points` has the oldest first."""

    n: int
    k: int
    points: tuple[Point, ...]


@dataclass(frozen=True)
class _Run:
    """A cell in one point."""

    point: Point
    n: int
    k: int


def newest_trials(
    session: Session,
    points: Sequence[Point],
    since: dict[Key, int],
    *,
    model: str | None = None,
    progress: ScanProgress | None = None,
) -> dict[Key, Trials]:
    """Return the newest trials of cells that have any.

    Cells come with the place of the first point that counts for each; points are all there are, the
    oldest first.
    """
    newest = _newest(points)
    rows = read_cell_rows(
        session, [points[place] for place in newest], NUMBERS, model=model, progress=progress
    )
    chosen: dict[Key, list[_Run]] = {}
    for key, entries in _cells(rows, points, newest):
        if key in since:
            chosen[key] = _alike(rows, entries, points, newest, since[key])
    kept = {key: _up_to(runs) for key, runs in chosen.items() if runs}
    cut = {key: runs[-1] for key, (runs, room) in kept.items() if runs[-1].n > room}
    last_of = _last_repetitions(session, cut, {key: room for key, (_, room) in kept.items()})
    return {key: _trials(runs, room, last_of.get(key)) for key, (runs, room) in kept.items()}


def _newest(points: Sequence[Point]) -> list[int]:
    """Return the places of the newest points of each suite, the oldest first."""
    count: defaultdict[str, int] = defaultdict(int)
    newest = []
    for place in range(len(points) - 1, -1, -1):
        count[points[place].suite_id] += 1
        if count[points[place].suite_id] <= MAX_RUNS:
            newest.append(place)
    return newest[::-1]


def _cells(
    rows: CellRows, points: Sequence[Point], newest: Sequence[int]
) -> Iterable[tuple[Key, list[int]]]:
    """Yield each cell with its entries, those of the newest point first."""
    entries: defaultdict[Key, list[int]] = defaultdict(list)
    for entry in np.argsort(-rows.point, kind="stable").tolist():
        suite_id = points[newest[rows.point[entry]]].suite_id
        entries[suite_id, rows.names[rows.model[entry]], rows.names[rows.case[entry]]].append(entry)
    return entries.items()


def _alike(
    rows: CellRows,
    entries: Sequence[int],
    points: Sequence[Point],
    newest: Sequence[int],
    since: int,
) -> list[_Run]:
    """Return the points with trials under the newest fingerprint, the newest first."""
    n, k, fingerprint = (rows.numbers[name] for name in ("n", "k", "fingerprint"))
    runs: list[_Run] = []
    reference = None
    for entry in entries:
        place = newest[rows.point[entry]]
        if place < since or not n[entry]:
            continue
        asked = (int(rows.case_hash[entry]), int(fingerprint[entry]))
        if reference is None:
            reference = asked
        if asked != reference:
            continue
        if runs and runs[-1].point is points[place]:  # another shard of it
            before = runs.pop()
            runs.append(_Run(before.point, before.n + int(n[entry]), before.k + int(k[entry])))
        else:
            runs.append(_Run(points[place], int(n[entry]), int(k[entry])))
    return runs


def _up_to(runs: Sequence[_Run]) -> tuple[list[_Run], int]:
    """Return the runs until there are trials enough, and how many of the last one count."""
    room = MAX_TRIALS
    for place, run in enumerate(runs):
        if run.n >= room:
            return list(runs[: place + 1]), room
        room -= run.n
    return list(runs), runs[-1].n


def _last_repetitions(
    session: Session, cut: dict[Key, _Run], room: dict[Key, int]
) -> dict[Key, int]:
    """Return how many of the last repetitions passed, for runs of which only these count."""
    key_of = {
        (run_id, model_id, case_id): (suite_id, model_id, case_id)
        for (suite_id, model_id, case_id), run in cut.items()
        for run_id in run.point.run_ids
    }
    run_ids = sorted({run_id for run_id, _, _ in key_of})
    verdicts: defaultdict[Key, list[tuple[int, bool]]] = defaultdict(list)
    for *trial, repetition, passed in (
        session.rows(
            "select run_id, model_id, case_id, repetition, passed from trials "
            "where run_id in (select unnest(?::varchar[])) and is_measured and passed is not null",
            [run_ids],
        )
        if run_ids
        else ()
    ):
        if (key := key_of.get(tuple(trial))) is not None:
            verdicts[key].append((repetition, passed))
    return {
        key: sum(passed for _, passed in sorted(found)[-room[key] :])
        for key, found in verdicts.items()
    }


def _trials(runs: Sequence[_Run], room: int, passed_last: int | None) -> Trials:
    *whole, last = runs
    k_last = last.k if passed_last is None else passed_last
    return Trials(
        n=sum(run.n for run in whole) + min(room, last.n),
        k=sum(run.k for run in whole) + k_last,
        points=tuple(run.point for run in reversed(runs)),
    )


def find_flaky(
    session: Session,
    *,
    limits: ThresholdsUsed,
    known: KnownFile | None = None,
    suite: str | None = None,
    model: str | None = None,
    progress: ScanProgress | None = None,
) -> Flaky:
    """Return every cell that the newest run of its series asks, flaky ones first.

    The arguments are those of `find_regressions`; the file has quarantined cases too.
    """
    history = read_history(session, METRICS, suite=suite, model=model, progress=progress)
    found = find_all(history, limits.thresholds, METRICS, progress)
    shifted = {_key(one.cell): one for one in found.cell_shifts}
    since = {_key(cell): _since(found, cell, shifted.get(_key(cell))) for cell in found.cells}
    trials = newest_trials(session, found.points, since, model=model, progress=progress)
    known = read_ids(session).with_newest_ids(known)
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

"""The newest trials of cells that were asked exactly the same: what a flip rate is counted on.

Trials count under the fingerprint of the newest run that has any, not reused ones, the newest 50.
Of a run that would pass that number its last repetitions count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analyze.regressions.cell_table import CellRows, read_cell_rows

if TYPE_CHECKING:
    from analyze.query.session import Session
    from analyze.regressions.detect import Tell
    from analyze.regressions.points import Point

MOST_TRIALS = 50
NEWEST = 200
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
    tell: Tell | None = None,
) -> dict[Key, Trials]:
    """Return the newest trials of cells that have any.

    Args:
        session: the open lake.
        points: every one, the oldest first.
        since: cells, and the place of the first point that counts for each.
        model: only this one, by its model_id or model string.
        tell: is told what is done, how much of it, and how much there is.
    """
    newest = _newest(points)
    rows = read_cell_rows(
        session, [points[place] for place in newest], NUMBERS, model=model, tell=tell
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
        if count[points[place].suite_id] <= NEWEST:
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
    room = MOST_TRIALS
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

"""Points in time: a run is one, and so are all shards of one plan together.

A series goes through the points of its suite in the order of their newest start; points without a
known start come first, since only runs of an older tool lack it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analyze.query.session import Session


@dataclass(frozen=True)
class Point:
    """One run, or the shards of one plan.

    Attributes:
        run_id: of the run, or of the shard that started first: the name that does not change when
            another shard follows.
        run_ids: of every shard, the first that started first.
        started_at_ms: of the shard that started last; None: not known.
        is_narrowed: flags made each of its runs smaller than the suite.
        n_planned: trials of all its runs.
        labels: of all its runs.
        machines: that collected.
        versions: of benchlake that collected.
    """

    suite_id: str
    run_id: str
    run_ids: tuple[str, ...]
    started_at_ms: int | None
    is_narrowed: bool
    n_planned: int
    labels: tuple[str, ...]
    machines: tuple[str, ...]
    versions: tuple[str, ...]


def read_points(session: Session, suite: str | None = None) -> list[Point]:
    """Return every point of the history, of one suite if it is named, the oldest first."""
    groups: dict[tuple[str, str], list[_Run]] = {}
    rows = session.rows(
        "select suite_id, run_group, run_id, started_at_ms, is_narrowed, n_planned, labels, "
        "machine, benchlake_version from stg_runs where suite_id = ? or ? "
        "order by started_at_ms nulls first, run_id",
        [suite or "", suite is None],
    )
    for suite_id, group, *fields in rows:
        run = _Run(*fields)
        key = f"group {group}" if group is not None else f"run {run.run_id}"
        groups.setdefault((suite_id, key), []).append(run)
    points = [_point(suite_id, runs) for (suite_id, _), runs in groups.items()]
    return sorted(points, key=lambda point: (_moment(point), point.run_id))


@dataclass(frozen=True)
class _Run:
    run_id: str
    started_at_ms: int | None
    is_narrowed: bool
    n_planned: int
    labels: list[str]
    machine: str | None
    version: str | None


def _point(suite_id: str, runs: list[_Run]) -> Point:
    """Return the point of some runs, which are in the order of their start."""
    return Point(
        suite_id=suite_id,
        run_id=runs[0].run_id,
        run_ids=tuple(run.run_id for run in runs),
        started_at_ms=runs[-1].started_at_ms,
        is_narrowed=all(run.is_narrowed for run in runs),
        n_planned=sum(run.n_planned for run in runs),
        labels=tuple(sorted({label for run in runs for label in run.labels})),
        machines=_known(run.machine for run in runs),
        versions=_known(run.version for run in runs),
    )


def _known(texts: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({text for text in texts if text is not None}))


def _moment(point: Point) -> int:
    return -1 if point.started_at_ms is None else point.started_at_ms

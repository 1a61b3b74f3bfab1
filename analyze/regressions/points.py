"""Points in time: a run is one, and so are all shards of one plan together.

A series goes through the points of its suite in the order of their newest start; points without a
known start come first, since only runs of an older tool lack it.

Since when: what `--since` means, as milliseconds since 1970.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from analyze.query.run_ref import resolve_run
from schemas.errors import ConfigError, Problem, RunNotFound

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


MS_OF = {"h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}

AGO = re.compile(r"([0-9]{1,5})([hdw])")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

FORMS = "a run id, `label:NAME`, a day such as 2026-11-30, or a duration such as 7d (h, d, w)"


def since_ms(session: Session, text: str, now_ms: int | None = None) -> int:
    """Return the moment from which on something counts; a run without a start: from the beginning.

    Args:
        session: the open lake.
        text: a run, a day in UTC, or a duration before now.
        now_ms: by default, now.

    Raises:
        ConfigError: it is none of them; names what is near.
    """
    if ago := AGO.fullmatch(text):
        now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        return now - int(ago[1]) * MS_OF[ago[2]]
    if DAY.fullmatch(text):
        try:
            return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)
        except ValueError as exc:
            raise ConfigError([Problem(None, f"--since {text}: there is no such day")]) from exc
    try:
        run_id = resolve_run(session, text)
    except RunNotFound as exc:
        what = f"--since {text}: {exc}"
        raise ConfigError([Problem(None, what, allowed=FORMS)]) from exc
    ((started_at_ms,),) = session.rows(
        "select started_at_ms from stg_runs where run_id = ?", [run_id]
    )
    return -1 if started_at_ms is None else int(started_at_ms)

"""Points in time: a run is one, and so are all shards of one plan together.

A series goes through the points of its suite in the order of their newest start; points without a
known start come first, since only runs of an older tool lack it. `--since` is read as a moment.

The cells of all points are arrays of numbers: millions of them in a few hundred megabytes. They are
read by stretches of runs, so that what is summed up at a time stays small however long the history
is. Names become their places in lists; a case_hash becomes its first 60 bits.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from analyze.comparison.evidence.outcomes import distinct_texts, plan_name
from analyze.lake.overlay import read_sql
from analyze.query.run_ref import resolve_run
from schemas.errors import ConfigError, Problem, RunNotFound

if TYPE_CHECKING:
    from analyze.query.session import Session
    from analyze.stats.changepoints.scan import Ints
    from schemas.output.comparison import Metric

MS_OF = {"h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}

AGO = re.compile(r"([0-9]{1,5})([hdw])")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

FORMS = "a run id, `label:NAME`, a day such as 2026-11-30, or a duration such as 7d (h, d, w)"

MAX_BATCH_TRIALS = 500_000
"""Trials that are summed up at a time."""

UNKNOWN = -1
"""For a case_hash that is not known, and an answer that is not one."""

COUNTS = {
    "n_planned": "n_planned",
    "n_scorable": "n_scorable",
    "n_scored": "n_scored",
    "n_independent": "n_independent",
    "n_independent_passed": "n_independent_passed",
    "answer": (
        "case when first_hash = last_hash and n_failed_answers = 0 and n_answers >= n_independent "
        "then coalesce(try_cast('0x' || substr(first_hash, 1, 15) as bigint), -1) else -1 end"
    ),
    "n_e2e_ms": "n_e2e_ms",
}
"""Of each cell, by the column of `int_case_outcomes`: what every series needs. `answer` stands for
the one answer that all of its own trials gave; UNKNOWN where they gave several."""

SUMS: Mapping[Metric, Mapping[str, str]] = {
    "e2e_ms": {"ln_e2e_ms": "ln_e2e_ms"},
    "ttft_ms": {"n_ttft_ms": "n_ttft_ms", "ln_ttft_ms": "ln_ttft_ms"},
    "input_tokens": {"n_input_tokens": "n_input_tokens", "ln_input_tokens": "ln_input_tokens"},
    "output_tokens": {"n_output_tokens": "n_output_tokens", "ln_output_tokens": "ln_output_tokens"},
    "cost_usd": {"n_cost_usd": "n_cost", "ln_cost_usd": "ln_cost_nano_usd"},
}
"""What some metrics need besides; `ln_`: sums of logarithms in 1 / LN_SCALE."""

SQL = read_sql("regressions/cell_rows.sql")
"""No alias is called as a view is: that would be created along, by its name."""

OF_MODEL = " and (counted.model_id = ? or counted.model = ?)"


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
        groups.setdefault((suite_id, plan_name(run.run_id, group)), []).append(run)
    points = [_point(suite_id, runs) for (suite_id, _), runs in groups.items()]
    return sorted(points, key=lambda point: (moment_of(point), point.run_id))


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
        machines=distinct_texts(run.machine for run in runs),
        versions=distinct_texts(run.version for run in runs),
    )


def moment_of(point: Point) -> int:
    """Return when a point started, in ms; one without a known start is before all others."""
    return -1 if point.started_at_ms is None else point.started_at_ms


def since_ms(session: Session, text: str, now_ms: int | None = None) -> int:
    """Return the moment from which on something counts; a run without a start: from the beginning.

    The text is a run, a day in UTC, or a duration before now.

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


@dataclass(frozen=True)
class CellRows:
    """One entry a run and cell in each array.

    Attributes:
        names: model_ids and case_ids; `model` and `case` are places in it.
        point: place of the run's point in the list that was asked for.
        case_hash: a number that stands for it, or UNKNOWN.
        numbers: arrays by their name.
    """

    names: tuple[str, ...]
    point: Ints
    model: Ints
    case: Ints
    case_hash: Ints
    numbers: dict[str, Ints]

    def of_points(self, first: int, end: int) -> CellRows:
        """Return the entries of the points at places from `first` to before `end`, counted anew."""
        kept = np.flatnonzero((self.point >= first) & (self.point < end))
        return CellRows(
            names=self.names,
            point=self.point[kept] - first,
            model=self.model[kept],
            case=self.case[kept],
            case_hash=self.case_hash[kept],
            numbers={name: column[kept] for name, column in self.numbers.items()},
        )


def read_cell_rows(
    session: Session,
    points: Sequence[Point],
    numbers: Mapping[str, str],
    *,
    model: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> CellRows:
    """Return every cell of some points.

    Args:
        session: the open lake.
        points: whose runs are read.
        numbers: what is read of each cell, by its name: columns of `int_case_outcomes`.
        model: only this one, by its model_id or model string.
        progress: is told what is done, how much of it, and how much there is.
    """
    names = _names(session, model)
    columns = ", ".join(f"coalesce({column}, 0) as {name}" for name, column in numbers.items())
    sql = SQL.format(numbers=columns) + (OF_MODEL if model else "")
    of_model = [model, model] if model else []
    parts: list[dict[str, Any]] = []
    n_read = 0
    for stretch in _stretches(points):
        run_ids = [run_id for run_id, _ in stretch]
        places = [place for _, place in stretch]
        lists = [run_ids, places, list(names), list(range(len(names)))]
        parts.append(session.arrays(sql, [*lists, UNKNOWN, run_ids[0], run_ids[-1], *of_model]))
        n_read += len(stretch)
        if progress is not None:
            progress("runs read", n_read, sum(len(point.run_ids) for point in points))
    return CellRows(
        names=names,
        point=_joined(parts, "point_no"),
        model=_joined(parts, "model_no"),
        case=_joined(parts, "case_no"),
        case_hash=_joined(parts, "case_hash"),
        numbers={name: _joined(parts, name) for name in numbers},
    )


def _names(session: Session, model: str | None) -> tuple[str, ...]:
    rows = session.rows(
        "select model_id from stg_plans where ? in (model_id, model) or ? "
        "union select case_id from stg_plans where ? in (model_id, model) or ? order by 1",
        [model or "", model is None] * 2,
    )
    return tuple(name for (name,) in rows)


def _stretches(points: Sequence[Point]) -> Iterator[list[tuple[str, int]]]:
    """Yield stretches of (run_id, place of its point), by run_id: rows lie in that order."""
    stretch: list[tuple[str, int]] = []
    n_planned = 0.0
    for run_id, place in sorted(
        (run_id, place) for place, point in enumerate(points) for run_id in point.run_ids
    ):
        n_trials = points[place].n_planned / len(points[place].run_ids)
        if stretch and n_planned + n_trials > MAX_BATCH_TRIALS:
            yield stretch
            stretch, n_planned = [], 0.0
        stretch.append((run_id, place))
        n_planned += n_trials
    if stretch:
        yield stretch


def _joined(parts: Sequence[dict[str, Any]], name: str) -> Ints:
    """Return one column of all stretches, and let go of its parts."""
    arrays = [np.asarray(part.pop(name)) for part in parts]
    return np.concatenate(arrays) if arrays else np.zeros(0, np.int64)

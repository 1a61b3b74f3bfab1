"""The shifts for the worse that still stand at a run: what a gate must not forget.

A shift stands until the earlier level is back, or until somebody acknowledges it. It is closed for
good once that level was back and a shift the other way was reported; a return that rests on a few
lucky nights may be revoked by the next.

The collector ends a run with the shifts that stand at it.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from analyze.aliases import read_ids
from analyze.query.run_ref import read_names
from analyze.query.session import Session, open_session
from analyze.regressions.alerts import Entries
from analyze.regressions.detect import METRICS, MIN_SERIES_RUNS, found_shifts, scan, why_not
from analyze.regressions.document import open_sentences
from analyze.regressions.points import Point, read_points
from analyze.regressions.series import Histories, Series, read_history
from analyze.regressions.standing import standing_shifts
from analyze.render.text import line_of
from analyze.stats.paired_rates import ROUNDING
from analyze.summary.summarize import thresholds_of
from schemas.base import same_fields
from schemas.config.known_issues import Acknowledged, KnownFile, ShiftMetric
from schemas.config.project import Thresholds
from schemas.errors import runs_flag
from schemas.lake import Lake
from schemas.output.comparison import Axis
from schemas.output.regressions import OpenShift
from schemas.output.regressions import Series as SeriesNames
from schemas.run.config import read_config
from schemas.run.layout import run_folders
from schemas.run.model_names import with_names

MAX_POINTS = 120
"""Newest points of a suite that are looked at; `analyze regressions` looks at all."""

MAX_NAMED_SHIFTS = 5
"""Shifts that are told; `analyze runs` has all."""


@dataclass(frozen=True)
class StandingShift:
    """A shift that stands.

    Attributes:
        shift: as it is told.
        before: run_ids of the level before, the oldest first.
    """

    shift: OpenShift
    before: tuple[str, ...]


@dataclass(frozen=True)
class OpenShifts:
    """What stands at some runs.

    Attributes:
        shifts: by suite and model, of each metric the oldest first.
        unused: acknowledged, and no such shift; of the suites, models and metrics looked at. Where
            not every run of a suite was, only entries whose first run is none of them.
    """

    shifts: tuple[StandingShift, ...] = ()
    unused: tuple[Acknowledged, ...] = ()


def find_open_shifts(
    session: Session,
    run_ids: Sequence[str],
    *,
    limits: Thresholds,
    metrics: Collection[ShiftMetric] = METRICS,
    model: str | None = None,
    allow: Collection[Axis] = (),
    known: KnownFile | None = None,
    max_drop: float | None = None,
    last: int = MAX_POINTS,
    histories: Histories | None = None,
) -> OpenShifts:
    """Return the shifts that stand at some runs, in every model of their suites.

    A model that these runs did not ask stands as its own newest run left it, and is told as such.

    Args:
        session: the open lake.
        run_ids: the runs that are judged; their points are the last that are looked at.
        limits: margins below which a shift is none.
        metrics: that are looked at.
        model: only this one, by its model_id or model string.
        allow: with `case`, a case is the same whatever its content.
        known: acknowledged shifts stand no more.
        max_drop: of a pass rate that is tolerated; None: nobody asked.
        last: newest points of a suite that are looked at.
        histories: of these metrics and models, where others look at them too; with the same
            `allow`. By default no more is read than is looked at.
    """
    options = [word for axis in allow for word in ("--allow", axis) if axis == "case"]
    asked = _Asked(
        metrics,
        limits,
        Entries(read_ids(session).with_newest_ids(known)),
        max_drop,
        (*options, *runs_flag(session.runs_dir)),
    )
    found: list[StandingShift] = []
    unused: list[Acknowledged] = []
    for suite_id in _suites(session, run_ids):
        whole = None if histories is None else histories.of(suite_id)
        points = read_points(session, suite_id) if whole is None else whole.points
        until, following = _points_until(points, run_ids)
        window = until[max(len(until) - last, 0) :]
        models = _models(session, window, run_ids, model)
        if len(until) >= MIN_SERIES_RUNS and models:
            history = (
                whole.cut(before=following, last=last)
                if whole is not None
                else read_history(
                    session,
                    metrics,
                    suite=suite_id,
                    model=next(iter(models)) if len(models) == 1 else None,
                    before=following,
                    allow=allow,
                    last=last,
                )
            )
            for series in history.series():
                if series.model_id in models:
                    found += _of_series(series, models[series.model_id], asked)
        is_whole = len(window) == len(points)  # what is cut off, or follows, may show a shift
        beyond = [] if is_whole else [run_id for point in points for run_id in point.run_ids]
        unused += asked.entries.unused(
            suite_id, models if model else None, metrics=metrics, beyond=beyond
        )
    return OpenShifts(tuple(found), tuple(unused))


@dataclass(frozen=True, slots=True)
class _Asked:
    metrics: Collection[ShiftMetric]
    limits: Thresholds
    entries: Entries
    max_drop: float | None
    options: tuple[str, ...]
    """Of every command that is told."""


@dataclass(frozen=True, slots=True)
class _Model:
    """A model as its newest run has it; `last_asked_in` where that is none of the runs judged."""

    provider: str
    model: str
    thinking_level: str | None
    last_asked_in: str | None


def _suites(session: Session, run_ids: Sequence[str]) -> list[str]:
    rows = session.rows(
        "select distinct suite_id from stg_runs where run_id in (select unnest(?::varchar[])) "
        "order by suite_id",
        [list(run_ids)],
    )
    return [suite_id for (suite_id,) in rows]


def _points_until(
    points: Sequence[Point], run_ids: Sequence[str]
) -> tuple[list[Point], str | None]:
    """Return the points up to the newest of some runs, and the run after them."""
    places = [n for n, point in enumerate(points) if not set(run_ids).isdisjoint(point.run_ids)]
    end = places[-1] + 1 if places else 0
    return list(points[:end]), points[end].run_id if end < len(points) else None


def _models(
    session: Session, points: Sequence[Point], run_ids: Sequence[str], model: str | None
) -> dict[str, _Model]:
    """Return the models that some points asked, as the newest of these has them, by model_id.

    Points are of one suite, the oldest first; of the runs that are judged every shard counts.
    """
    place = {run_id: n for n, point in enumerate(points) for run_id in point.run_ids}
    judged = [n for n, point in enumerate(points) if not set(run_ids).isdisjoint(point.run_ids)]
    rows = session.rows(
        "select run_id, model_id, provider, model, thinking_level from int_run_models "
        "where run_id in (select unnest(?::varchar[])) order by run_id, model_id",
        [list(place)],
    )
    asked = {model_id for run_id, model_id, *_ in rows if place[run_id] in judged}
    newest = {row[1]: row for row in sorted(rows, key=lambda row: place[row[0]])}
    return {
        model_id: _Model(
            provider, name, level, None if model_id in asked else points[place[run_id]].run_id
        )
        for run_id, model_id, provider, name, level in newest.values()
        if model is None or model in (model_id, name)
    }


def _of_series(series: Series, named: _Model, asked: _Asked) -> Iterator[StandingShift]:
    for metric in asked.metrics:
        if why_not(series, metric) is not None:
            continue
        scanned = scan(series, metric, asked.limits)
        shifts = {one.shift.at: one for one in found_shifts(series, metric, scanned)}
        known = {at for at, one in shifts.items() if asked.entries.of_shift(one) is not None}
        for stands in standing_shifts(series, metric, scanned, asked.limits):
            shift, found = stands.shift, shifts[stands.shift.at]
            if shift.at in known:
                continue
            is_tolerated = None
            is_judged = metric == "passed_rate" and named.last_asked_in is None
            if is_judged and asked.max_drop is not None:
                drop = stands.before - stands.now
                is_tolerated = asked.max_drop > 0 and drop <= asked.max_drop + ROUNDING
            yield StandingShift(
                OpenShift(
                    series=SeriesNames(
                        suite_id=series.suite_id,
                        model_id=series.model_id,
                        metric=metric,
                        provider=named.provider,
                        model=named.model,
                        thinking_level=named.thinking_level,
                    ),
                    first_run=found.first.run_id,
                    first_started_at_ms=found.first.started_at_ms,
                    last_run_before=found.last_before.run_id,
                    seen_in=series.points[shift.seen_at].run_id,
                    **same_fields(stands, "n_runs before after now size"),
                    command=_command(series, found.first.run_id, asked.options),
                    is_tolerated=is_tolerated,
                    last_asked_in=named.last_asked_in,
                ),
                tuple(run_id for place in stands.old for run_id in series.points[place].run_ids),
            )


def _command(series: Series, first_run: str, options: Sequence[str]) -> str:
    words = ["analyze", "regressions", "--suite", series.suite_id, "--model", series.model_id]
    return shlex.join([*words, "--since", first_run, *options])


def open_after_run(run_dir: Path) -> list[str]:
    """Return the shifts that stand at a run of this folder, a line each with its command.

    And how many runs the lake does not have, since what they began cannot be told.

    Args:
        run_dir: the run's folder; its rows are in the lake beside it.

    Raises:
        SchemaError: the run's config cannot be read.
        ViewError: the lake cannot be read.
    """
    run_id = read_config(run_dir).run_id
    with open_session(run_dir.parent, sync=False) as session:
        found = find_open_shifts(session, [run_id], limits=thresholds_of(run_dir)).shifts
        n_unseen = _n_not_in_lake(session)
        names = read_names(session)
    lines = [
        f"open shift: {line_of(sentence)}; {line_of(command)}"
        for sentence, command in open_sentences(
            with_names(one.shift, names) for one in found[:MAX_NAMED_SHIFTS]
        )
    ]
    look = shlex.join(["analyze", "runs", *runs_flag(run_dir.parent)])
    if (more := len(found) - len(lines)) > 0:
        lines.append(f"and {more} more open {'shift' if more == 1 else 'shifts'}: {look}")
    if n_unseen:
        runs = "1 other run is" if n_unseen == 1 else f"{n_unseen:,} other runs are"
        lines.append(
            f"{runs} not in the lake yet, so open shifts may be missing here; this command brings "
            f"them in and names what is open: {look}"
        )
    return lines


def _n_not_in_lake(session: Session) -> int:
    """Return how many run folders the lake knows nothing of, by their names.

    A lake that was deleted comes back with the next command that looks for news. Folders that were
    pruned or refused stay out, and are none of these.
    """
    rows = session.rows("select run_id from stg_runs")
    known = {run_id for (run_id,) in rows} | Lake(session.lake).runs.keys()
    return sum(name not in known for name, _ in run_folders(session.runs_dir))

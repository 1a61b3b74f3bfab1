"""How each model did from run to run of a suite, with the interval that each summary has.

Shards of one plan are one point: their trials are counted together, by case.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, groupby, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from analyze.query.session import Session
from analyze.regressions.document import (
    details,
    entry_line,
    everything,
    headline,
    mark,
    skipped_lines,
)
from analyze.render.numbers import limits_of, moment, percent, whole
from analyze.report.markdown_text import MAX_TEXT_CHARS, list_lines, plain
from analyze.report.sections import ReportContext, Section
from analyze.report.sentences import command_of
from analyze.report.table import Cell, Column, Table
from analyze.stats.rates import interval_of_units
from schemas.base import Interval, same_fields
from schemas.output.report import HistoryPoint, RunReport
from schemas.run.model_names import id_of

CASES = """
select
    run_rows.run_group, passes.model_id,
    sum(passes.n_passed), sum(passes.n_scored), sum(passes.n_scorable), min(passes.cluster)
from int_case_passes as passes
inner join stg_runs as run_rows on passes.run_id = run_rows.run_id
where run_rows.run_group in ({groups})
group by run_rows.run_group, passes.model_id, passes.case_id
order by run_rows.run_group, passes.model_id, passes.case_id
"""

MAX_RUNS = 100

MAX_ROWS = 10
"""Runs in the table; the chart shows all."""

MAX_SHIFTS = 20

MAX_LINES = 20
"""Lines of what could not be judged."""

MAX_POINTS = 600
"""Models of all these runs."""

RUNS = """
select run_id, started_at_ms, run_group, is_narrowed
from stg_runs
where run_id = ? or (
    suite_id = ? and started_at_ms is not null and (not is_narrowed or run_group is not null)
)
order by run_id = ? desc, started_at_ms desc, run_id desc
limit ?
"""
"""This run, then the newest ones."""

POINTS = """
select run_id, model_id, passed_rate, coverage, n_scored, e2e_ms_p50
from model_summary
where passed_rate is not null and run_id in ({runs})
order by model_id
"""

COUNTS = """
select run_id, model_id, n_passed, n_scored, sum(n_cases), cluster
from int_pass_counts
where n_scored > 0 and run_id in ({runs})
group by run_id, model_id, n_passed, n_scored, cluster
order by run_id, model_id, n_passed, n_scored, cluster nulls first
"""

Row = tuple[Any, ...]


class _Point(NamedTuple):
    """One model in one run, or in all shards of a plan."""

    model_id: str
    passed_rate: float
    coverage: float | None
    n_scored: int
    e2e_ms_p50: float | None
    interval: Interval | None


def _merged_shards(session: Session, groups: Mapping[str, str]) -> dict[str, list[_Point]]:
    """Return the models with a verdict of each plan that was asked in shards.

    Args:
        session: the open lake.
        groups: `run_group` of each plan, and the run_id that stands for it.

    Returns:
        Models by that run_id, in the order of their names.
    """
    if not groups:
        return {}
    query = CASES.format(groups=", ".join("?" * len(groups)))
    cases: defaultdict[tuple[str, str], list[tuple[int, int, int, str | None]]] = defaultdict(list)
    for group, model_id, passed, scored, scorable, cluster in session.rows(query, list(groups)):
        cases[group, model_id].append((int(passed), int(scored), int(scorable), cluster))
    found: defaultdict[str, list[_Point]] = defaultdict(list)
    for (group, model_id), counts in cases.items():
        judged = [(cluster, k, m) for k, m, _, cluster in counts if m]
        if not judged:
            continue
        clusters, passed, scored = map(list, zip(*judged, strict=True))
        found[groups[group]].append(
            _Point(
                model_id,
                passed_rate=sum(passed) / sum(scored),
                coverage=sum(scored) / sum(scorable for _, _, scorable, _ in counts),
                n_scored=sum(scored),
                e2e_ms_p50=None,
                interval=interval_of_units(clusters, passed, scored),
            )
        )
    return found


def history_of(context: ReportContext) -> tuple[HistoryPoint, ...]:
    """Return a point for each model and run of the suite, as `suite_history` does."""
    return suite_history(context.session, context.run_id, context.run.row.suite_id)


def suite_history(session: Session, run_id: str, suite_id: str) -> tuple[HistoryPoint, ...]:
    """Return a point for each model and run of the suite, oldest run first; empty below two runs.

    The newest runs and the reported one, at most `MAX_RUNS` and as many as `MAX_POINTS` points
    allow; shards of one plan are one run, which has the name of the first, or of the reported one,
    and no percentile. A run without a known start or without any verdict has no place, and a part
    of the suite that somebody tried is left out as in the search for shifts, unless it is the
    reported run.

    Args:
        session: the open lake.
        run_id: the reported run.
        suite_id: of it.

    Raises:
        ViewError: the lake cannot be read.
    """
    rows = session.rows(RUNS, [run_id, suite_id, run_id, MAX_RUNS])
    began: dict[str, int] = {}
    groups: dict[str, str] = {}
    parts: set[str] = set()
    for name, started_at_ms, group, is_narrowed in rows:
        if started_at_ms is None:
            continue
        stands_for = groups.get(group) if group is not None else None
        if stands_for is not None and stands_for != run_id:
            del began[stands_for]  # the rows come newest first: this shard began before it
        elif stands_for is not None:
            began[run_id] = min(began[run_id], started_at_ms)
            continue
        began[name] = started_at_ms
        if group is not None:
            groups[group] = name
        elif is_narrowed:
            parts.add(name)
    if len(began) < 2:
        return ()
    chosen = _as_many_as_fit(_points(session, list(began), groups))
    if len(chosen) < 2:
        return ()
    return tuple(
        HistoryPoint(
            run_id=name,
            started_at_ms=began[name],
            **same_fields(point, "model_id passed_rate coverage n_scored e2e_ms_p50"),
            low=point.interval and point.interval.low,
            high=point.interval and point.interval.high,
            estimate=point.interval and point.interval.estimate,
            is_this_run=name == run_id,
            is_part=name in parts,
        )
        for name in sorted(chosen, key=lambda name: (began[name], name))
        for point in chosen[name]
    )


def _points(
    session: Session, run_ids: Sequence[str], groups: Mapping[str, str]
) -> dict[str, list[_Point]]:
    """Return the points of each run that has some, in the order of the runs."""
    found: defaultdict[str, list[_Point]] = defaultdict(list)
    sharded = set(groups.values())
    alone = [run_id for run_id in run_ids if run_id not in sharded]
    if alone:
        intervals = _intervals(session, alone)
        for run_id, model_id, rate, coverage, n, p50 in session.rows(_among(POINTS, alone), alone):
            interval = intervals[run_id, model_id]
            found[run_id].append(_Point(model_id, rate, coverage, n, p50, interval))
    found |= _merged_shards(session, groups)
    return {run_id: found[run_id] for run_id in run_ids if run_id in found}


def _as_many_as_fit(points: dict[str, list[_Point]]) -> dict[str, list[_Point]]:
    """Return the first runs whose points fit, whole runs only."""
    kept, n_points = {}, 0
    for run_id, rows in points.items():
        n_points += len(rows)
        if n_points > MAX_POINTS:
            break
        kept[run_id] = rows
    return kept


def _intervals(session: Session, run_ids: Sequence[str]) -> dict[tuple[str, str], Interval | None]:
    """Return the 95 % interval of each run and model."""
    rows = session.rows(_among(COUNTS, run_ids), run_ids)
    return {
        group: interval_of_units(*_each(list(counted)))
        for group, counted in groupby(rows, key=itemgetter(0, 1))
    }


def _each(counted: Sequence[Row]) -> tuple[list[str | None], list[int], list[int]]:
    """Return cluster, passed and scored trials of every case, from cases counted together."""
    clusters = chain.from_iterable(repeat(row[5], int(row[4])) for row in counted)
    passed = chain.from_iterable(repeat(row[2], int(row[4])) for row in counted)
    scored = chain.from_iterable(repeat(row[3], int(row[4])) for row in counted)
    return list(clusters), list(passed), list(scored)


def _among(sql: str, run_ids: Sequence[str]) -> str:
    return sql.format(runs=", ".join("?" * len(run_ids)))


def history(points: tuple[HistoryPoint, ...], command: str = "") -> Table:
    """Return the newest runs of the suite, this one among them, newest first."""
    models = list(dict.fromkeys(point.model_id for point in points))
    of_run: defaultdict[str, dict[str, HistoryPoint]] = defaultdict(dict)
    for point in points:
        of_run[point.run_id][point.model_id] = point
    runs = list(of_run)
    newest = set(runs[-MAX_ROWS:])
    columns = (
        Column("run", "run_id"),
        Column("started (UTC)", "started_at_ms"),
        *(Column(f"{model} %", f"model:{id_of(model)}", is_number=True) for model in models),
    )
    rows = []
    for run_id in reversed(runs):
        found = of_run[run_id]
        one = next(iter(found.values()))
        if run_id in newest or one.is_this_run:
            cells = [_cell(found.get(model)) for model in models]
            below = "this run" if one.is_this_run else ""
            rows.append([Cell(run_id, below=below), Cell(moment(one.started_at_ms)), *cells])
    said = f"The newest {MAX_ROWS} of {whole(len(runs))} runs in the chart."
    more = said if len(runs) > MAX_ROWS else ""
    return Table("history", "Runs of the suite", columns, rows, more, command)


def _cell(point: HistoryPoint | None) -> Cell:
    if point is None:
        return Cell("")
    rate = percent(point.passed_rate)
    return Cell(rate, rate, "n", below=limits_of(point.passed_rate, point))


def _parts(report: RunReport) -> dict[str, object] | None:
    if not report.history:
        return None
    found = report.shifts
    shifts = everything(found) if found else []
    n_more = len(shifts) - MAX_SHIFTS
    return {
        "shifts": [
            (one.is_worse, mark(one) + headline(one), list(details(one)))
            for one in shifts[:MAX_SHIFTS]
        ],
        "more": f"{whole(n_more)} more shifts" if n_more > 0 else "",
        "is_part": any(doubt.code == "narrowed" for doubt in report.doubts),
        "is_shard": report.run.shard is not None,
        "unused": [entry_line(entry) for entry in found.unused] if found else [],
        "skipped": skipped_lines(found.skipped)[:MAX_LINES] if found else [],
        "command": command_of(report, "regressions"),
        "table": history(report.history, command_of(report, "runs")),
    }


def _shifts(report: RunReport) -> list[str]:
    """Return every shift, as on the page: recoveries and acknowledged ones say what they are."""
    found = everything(report.shifts) if report.shifts else []
    lines = []
    for one in found:
        changed = f"; changed with it: {'; '.join(one.changed)}" if one.changed else ""
        lines.append(plain(mark(one) + headline(one) + changed, 2 * MAX_TEXT_CHARS))
    return lines


HISTORY = Section(
    "History",
    show=_parts,
    read=history_of,
    markdown=lambda report: [list_lines("Level shifts", _shifts(report))],
)

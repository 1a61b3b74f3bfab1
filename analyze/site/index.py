"""The first page of a site: suites with how they went lately, what stands open, and all runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyze.query.run_list import Listed, ListedRun, read_runs
from analyze.query.run_list_render import cost_of, notes_of, passed_of
from analyze.query.run_ref import read_names
from analyze.regressions.document import open_sentences
from analyze.regressions.open_shifts import find_open_shifts
from analyze.render.numbers import duration, limits_of, moment, percent, whole
from analyze.report.html.page import SITE_POLICY, Assets, rendered
from analyze.report.sections.history import suite_history
from analyze.report.table import Cell, Column, Table, filled, number
from analyze.site.folder import RUNS, page_name
from schemas.errors import counted
from schemas.run.model_names import id_of, with_names

if TYPE_CHECKING:
    from analyze.query.session import Session
    from analyze.site.keys import PageSettings
    from schemas.output.regressions import OpenShift
    from schemas.output.report import HistoryPoint

WIDTH, HEIGHT = 600, 120
"""Of the picture of a suite's history, in its own units."""

EDGE = 4
"""Above the highest rate and below the lowest, so that no line is cut."""

N_COLOURS = 7

MAX_MODELS = 7
"""Of a suite that are named; the page of its newest run has all."""

MAX_NAMED = 4
"""Models of a run in the table."""

PADDING = 0.05
"""Of a rate, around all that is drawn."""

NOTHING = (
    "There is no run yet. Make one with `collect demo` or `collect run`, then this site again."
)


@dataclass(frozen=True, slots=True)
class Line:
    """A model in the history of a suite."""

    look: str
    name: str
    points: str
    """As SVG has them."""
    last: tuple[float, float]
    rate: str
    """In its newest run there, in percent."""
    limits: str
    run: str
    """That run, where it is not the newest of the suite."""


@dataclass(frozen=True, slots=True)
class OpenLine:
    """A shift that stands, and the page of the run that it began with."""

    sentence: str
    href: str
    command: str


@dataclass(frozen=True, slots=True)
class SuiteShown:
    """One suite of the index."""

    name: str
    title: str
    facts: tuple[str, ...]
    newest: str
    href: str
    headline: str
    """Of that page."""
    lines: tuple[Line, ...]
    n_more: int
    low: str
    """At the lower edge of the picture, in percent."""
    high: str
    marks: tuple[float, ...]
    """Where open shifts began, from the left."""
    n_drawn: int
    """Runs in the picture; below two there is none."""
    said: str
    """The picture in words."""
    shifts: tuple[OpenLine, ...]


def index_html(
    session: Session,
    settings: PageSettings,
    version: str,
    assets: Assets,
    *,
    headline_of: Callable[[str], str],
    missing: Collection[str] = (),
) -> str:
    """Return the page.

    Args:
        session: the open lake.
        settings: of all pages.
        version: of benchlake.
        assets: as the page refers to them.
        headline_of: gives what the page of a run says first.
        missing: run_ids that have no page.

    Raises:
        ViewError: the lake cannot be read.
    """

    def href_of(run_id: str) -> str:
        return "" if run_id in missing else f"{RUNS}/{page_name(run_id)}"

    names = read_names(session)
    listed = with_names(read_runs(session), names)
    suites: dict[str, list[ListedRun]] = {}
    for run in listed.runs:
        suites.setdefault(run.row.suite_id, []).append(run)
    shown = []
    for suite_id, runs in suites.items():
        newest = listed.newest[suite_id]
        found = find_open_shifts(
            session, [newest], limits=settings.limits.thresholds, known=settings.known
        )
        opened = [with_names(one.shift, names) for one in found.shifts]
        history = [with_names(point, names) for point in suite_history(session, newest, suite_id)]
        shown.append(_suite(runs, history, opened, href_of, headline_of(newest)))
    return rendered(
        "index.html.j2",
        policy=SITE_POLICY,
        assets=assets,
        version=version,
        suites=shown,
        n_open=sum(len(suite.shifts) for suite in shown),
        facts=_facts(listed, len(suites)),
        runs=runs_table(listed, href_of),
        nothing=NOTHING,
    )


def _facts(listed: Listed, n_suites: int) -> tuple[str, ...]:
    if not listed.runs:
        return ()
    began = moment(listed.runs[0].row.started_at_ms)
    facts = (counted(listed.n_all, "run"), counted(n_suites, "suite"))
    return (*facts, f"newest {began} UTC") if began else facts


def _suite(
    runs: Sequence[ListedRun],
    history: Sequence[HistoryPoint],
    opened: Sequence[OpenShift],
    href_of: Callable[[str], str],
    headline: str,
) -> SuiteShown:
    """Return a suite as it is shown.

    Args:
        runs: of it, the newest first.
        history: of it, oldest run first; empty below two runs.
        opened: shifts that stand at its newest run.
        href_of: gives the page of a run; empty for none.
        headline: of the page of its newest run.
    """
    newest = runs[0]
    order = [*dict.fromkeys(point.run_id for point in history)]
    column = {run_id: n for n, run_id in enumerate(order)}
    low, high = _bounds(history)
    x_of = {run_id: round(WIDTH * (n + 0.5) / len(order), 1) for run_id, n in column.items()}

    def y_of(rate: float) -> float:
        return round(EDGE + (HEIGHT - 2 * EDGE) * (high - rate) / (high - low), 1)

    by_model: dict[str, list[HistoryPoint]] = {}
    for point in history:
        by_model.setdefault(id_of(point.model_id), []).append(point)
    ranked = sorted(
        by_model.values(),
        key=lambda points: (-column[points[-1].run_id], -points[-1].passed_rate),
    )
    lines = tuple(
        Line(
            look=f"c{place % N_COLOURS}",
            name=points[-1].model_id,
            points=" ".join(
                f"{x_of[one.run_id]},{y_of(one.passed_rate)}" for one in points if not one.is_part
            ),
            last=(x_of[points[-1].run_id], y_of(points[-1].passed_rate)),
            rate=percent(points[-1].passed_rate),
            limits=limits_of(points[-1].passed_rate, points[-1]),
            run="" if points[-1].run_id == order[-1] else points[-1].run_id,
        )
        for place, points in enumerate(ranked[:MAX_MODELS])
    )
    began = moment(newest.row.started_at_ms)
    return SuiteShown(
        name=newest.row.suite_id,
        title=newest.row.suite_title or newest.row.suite_id,
        facts=tuple(filter(None, (counted(len(runs), "run"), began and f"newest {began} UTC"))),
        newest=newest.run_id,
        href=href_of(newest.run_id),
        headline=headline,
        lines=lines or _alone(newest),
        n_more=max(0, len(by_model) - MAX_MODELS),
        low=percent(low),
        high=percent(high),
        marks=tuple(sorted({x_of[one.first_run] for one in opened if one.first_run in x_of})),
        n_drawn=len(order),
        said=_said(lines, len(order)),
        shifts=tuple(
            OpenLine(sentence, href_of(shift.first_run), look)
            for shift, (sentence, look) in zip(opened, open_sentences(opened), strict=True)
        ),
    )


def _alone(run: ListedRun) -> tuple[Line, ...]:
    """Return the models of the only run of a suite, the best first."""
    judged = [one for one in run.by_model if one.passed.rate is not None]
    judged.sort(key=lambda one: -(one.passed.rate or 0))
    return tuple(
        Line(
            look=f"c{place % N_COLOURS}",
            name=one.model_id,
            points="",
            last=(0, 0),
            rate=percent(one.passed.rate),
            limits=limits_of(one.passed.rate, one.passed.interval),
            run="",
        )
        for place, one in enumerate(judged[:MAX_MODELS])
    )


def _bounds(history: Sequence[HistoryPoint]) -> tuple[float, float]:
    """Return from which rate to which is drawn."""
    rates = [point.passed_rate for point in history]
    if not rates:
        return 0.0, 1.0
    return max(0.0, min(rates) - PADDING), min(1.0, max(rates) + PADDING)


def _said(lines: Sequence[Line], n_runs: int) -> str:
    rates = "; ".join(f"{line.name} {line.rate} %" for line in lines)
    return f"Passed rates of {counted(n_runs, 'run')}; in the newest: {rates}."


def runs_table(listed: Listed, href_of: Callable[[str], str]) -> Table:
    """Return every run, the newest first, each with its page, where it has one."""
    columns = (
        Column("run", "run_id"),
        Column("when (UTC)", "started_at_ms"),
        Column("suite", "suite_id"),
        Column("models", "models"),
        Column("trials", "n_total", is_number=True),
        Column("cover %", "coverage", is_number=True),
        Column("passed % [95 %]", "passed_rate", is_number=True),
        Column("USD", "cost_usd", is_number=True),
        Column("took", "took_ms", is_number=True),
        Column("label", "labels"),
        Column("notes", "notes"),
    )
    kept, rows = filled(columns, [_row(run, href_of(run.run_id)) for run in listed.runs])
    return Table("runs", "All runs", kept, rows)


def _row(run: ListedRun, href: str) -> list[Cell]:
    summary = run.summary
    more = len(run.models) - MAX_NAMED
    models = ", ".join(run.models[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
    return [
        Cell(run.run_id, href=href),
        Cell(moment(run.row.started_at_ms), str(run.row.started_at_ms or "")),
        Cell(run.row.suite_id),
        Cell(models),
        number(f"{whole(summary.n_total)}/{whole(summary.n_planned)}", summary.n_total),
        number(percent(summary.coverage), summary.coverage),
        number(passed_of(run), run.passed.rate),
        number(cost_of(run), summary.cost_usd),
        number(duration(run.took_ms or None), run.took_ms),
        Cell(", ".join(run.row.labels)),
        Cell(", ".join(filter(None, (notes_of(run), "" if href else "no page")))),
    ]

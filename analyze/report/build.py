"""Puts the parts of a report together: reads what several need once, then asks each section.

The baseline is the run of the suite that started before, unless somebody names another one. The
glossary says every number that a report shows once; its words are in glossary.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from analyze.comparison.compare import compare
from analyze.comparison.evidence.run_sets import BASE_WORDS
from analyze.gate.base_runs import resolve_compared
from analyze.query.run_list import ListedRun, read_run, read_runs_by_id
from analyze.query.run_ref import run_folder
from analyze.regressions.alerts import find_regressions
from analyze.regressions.detect import METRICS
from analyze.regressions.open_shifts import find_open_shifts
from analyze.regressions.series import Histories
from analyze.report.caveats import doubts_of
from analyze.report.sections import ReportContext
from analyze.report.sections.answer import answers_of, reported_run
from analyze.report.sections.cost_frontier import frontier_of
from analyze.report.sections.failures import failures_of, latency_of, matrix_of
from analyze.report.sections.flips import flips_of
from analyze.report.sections.history import history_of
from analyze.report.sections.provenance import provenance_of
from analyze.report.sections.transcripts import transcripts_of
from analyze.summary.summarize import summary_of, thresholds_of
from schemas import base
from schemas.base import Record
from schemas.output import comparison, regressions, summary
from schemas.output import report as report_parts
from schemas.output.comparison import Comparison, ThresholdsUsed
from schemas.output.regressions import Regressions
from schemas.output.report import RunReport, Term
from schemas.run import inventory
from schemas.run.model_names import NO_NAMES, ModelNames

if TYPE_CHECKING:
    from analyze.query.session import Session
    from analyze.regressions.detect import Tell
    from schemas.config.known_issues import KnownFile

RECORDS: dict[str, type[Record]] = {
    name: record
    for module in (base, inventory, summary, regressions, comparison, report_parts)
    for name, record in vars(module).items()
    if isinstance(record, type) and issubclass(record, Record)
}
"""What a report is made of, by name."""

SHOWN: dict[str, Callable[[RunReport], bool]] = {
    "answer": lambda report: bool(report.answer),
    "leaderboard": lambda report: bool(report.summary.models),
    "matrix": lambda report: bool(report.matrix.cells),
    "comparison": lambda report: report.comparison is not None,
    "history": lambda report: bool(report.history),
    "latency": lambda report: bool(report.latency),
    "frontier": lambda report: bool(report.frontier),
    "tiers": lambda report: any(model.tool_use.n for model in report.summary.models),
    "failures": lambda report: bool(report.failures),
    "resources": lambda report: bool(report.summary.models),
}
"""Each section of a report that shows numbers, and whether a report has anything to show in it."""

SECTIONS = tuple(SHOWN)

WITHOUT = "none"
"""Said instead of a baseline: compare with nothing."""

TRANSCRIPT_BYTES = 100 * 1024
"""Of text of transcripts, unless somebody says otherwise."""


@dataclass(frozen=True)
class Entry:
    """One number.

    Attributes:
        name: as tables and charts have it.
        field: its name in JSON, from the model or the case on.
        sections: that show it.
        record: name of the record that the last name of `field` is a field of.
        said: what it means, where the record does not say it.
        formula: how it is made.
        source: where the formula is from.
    """

    name: str
    field: str
    sections: tuple[str, ...]
    record: str
    said: str | None = None
    formula: str | None = None
    source: str | None = None

    @property
    def meaning(self) -> str:
        """What it means, in its own words or in those of its record."""
        declared = RECORDS[self.record].model_fields[self.field.rpartition(".")[2]].description
        return self.said or declared or ""


@cache
def entries() -> tuple[Entry, ...]:
    """Return every number, in the order in which a reader meets them."""
    text = (files("analyze.report") / "glossary.toml").read_text(encoding="utf-8")
    return tuple(
        Entry(**entry | {"sections": tuple(entry["sections"])})
        for entry in tomllib.loads(text)["entries"]
    )


def terms_for(sections: Collection[str]) -> tuple[Term, ...]:
    """Return the numbers of some sections, in the order in which a reader meets them.

    Args:
        sections: that the report has, of `SECTIONS`.
    """
    shown = frozenset(sections)
    return tuple(
        Term(
            name=entry.name,
            field=entry.field,
            meaning=entry.meaning,
            formula=entry.formula,
            source=entry.source,
        )
        for entry in entries()
        if not shown.isdisjoint(entry.sections)
    )


class _Baseline(NamedTuple):
    """The baseline of a run, and the run beside it."""

    run_ids: tuple[str, ...]
    comparison: Comparison | None


def build_report(
    session: Session,
    run_id: str,
    *,
    baseline: str | None,
    limits: ThresholdsUsed,
    transcript_bytes: int = TRANSCRIPT_BYTES,
    known: KnownFile | None = None,
    tell: Tell | None = None,
    names: ModelNames = NO_NAMES,
) -> RunReport:
    """Return a report of one run.

    Args:
        session: the open lake.
        run_id: the run; it is known to be there.
        baseline: what `compare` takes as its base, or `none`; None: the run of the suite before.
        limits: thresholds in force, and where they are from.
        transcript_bytes: of text of transcripts, as UTF-8.
        known: shifts that are acknowledged are not told as news.
        tell: is told how far the search for level shifts is.
        names: of models, for sentences; fields hold ids, `with_names` puts names there.

    Raises:
        RunNotFound: there is no such baseline; names the nearest.
        ConfigError: the baseline means nothing, or the run itself.
        ViewError: the lake cannot be read.
    """
    context = replace(_read_context(session, run_id, baseline, limits, known), names=names)
    histories = Histories(session, METRICS, tell=tell)
    shifts = _shifts(context, known, tell, histories)
    opened = find_open_shifts(
        session, [run_id], limits=limits.thresholds, known=known, histories=histories
    )
    flips = flips_of(context)
    report = RunReport(
        generated_at=context.summary.generated_at,
        benchlake_version=version("benchlake"),
        run=reported_run(session, context.run),
        baseline=tuple(
            reported_run(session, one) for one in read_runs_by_id(session, context.baseline)
        ),
        answer=answers_of(context),
        doubts=doubts_of(context, shifts),
        open_shifts=tuple(one.shift for one in opened.shifts),
        summary=context.summary,
        thresholds=thresholds_of(context.folder),
        matrix=matrix_of(context),
        comparison=context.comparison,
        flips=flips,
        history=history_of(context),
        shifts=shifts,
        latency=latency_of(context),
        frontier=frontier_of(context),
        failures=failures_of(context),
        transcripts=transcripts_of(context, flips, transcript_bytes),
        provenance=provenance_of(context),
        glossary=(),
    )
    shown = [name for name, is_shown in SHOWN.items() if is_shown(report)]
    return report.model_copy(update={"glossary": terms_for(shown)})


def _read_context(
    session: Session,
    run_id: str,
    baseline: str | None,
    limits: ThresholdsUsed,
    known: KnownFile | None,
) -> ReportContext:
    run, folder = read_run(session, run_id), run_folder(session, run_id)
    before = _read_baseline(session, run, baseline, limits, known)
    summary = summary_of(session, run_id, folder)
    return ReportContext(session, run, folder, summary, before.run_ids, before.comparison, limits)


def _read_baseline(
    session: Session,
    run: ListedRun,
    baseline: str | None,
    limits: ThresholdsUsed,
    known: KnownFile | None,
) -> _Baseline:
    text = _run_before(session, run) if baseline is None else baseline
    if text is None or baseline == WITHOUT:
        return _Baseline((), None)
    base, candidate = resolve_compared(
        session,
        text,
        run.run_id,
        limits=limits.thresholds,
        known=known,
        words=(*BASE_WORDS, WITHOUT),
    )
    return _Baseline(base.run_ids, compare(session, base, candidate, limits=limits))


def _run_before(session: Session, run: ListedRun) -> str | None:
    """Return the run of the suite that started before; a shard of the same plan is none."""
    group = run.asked.run_group
    if group is None:
        return run.asked.previous_run_id
    rows = session.rows(
        "select run_id from runs where suite_id = ? and run_no < ? "
        "and (run_group is null or run_group <> ?) order by run_no desc limit 1",
        [run.asked.suite_id, run.asked.run_no, group],
    )
    return rows[0][0] if rows else None


def _shifts(
    context: ReportContext, known: KnownFile | None, tell: Tell | None, histories: Histories
) -> Regressions | None:
    """Return the level shifts of the suite; None while it has one run."""
    suite_id = context.run.asked.suite_id
    query = "select count(*) from stg_runs where suite_id = ?"
    if context.session.rows(query, [suite_id])[0][0] < 2:
        return None
    return find_regressions(
        context.session,
        limits=context.limits,
        suite=suite_id,
        known=known,
        tell=tell,
        history=histories.of(suite_id),
    )

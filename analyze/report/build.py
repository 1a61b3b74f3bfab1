"""Puts the parts of a report together: reads what several need once, then asks each section.

The baseline is the run of the suite that started before, unless somebody names another one.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from analyze.comparison.compare import compare
from analyze.comparison.evidence.read import read_evidence
from analyze.comparison.evidence.run_sets import BASE_WORDS
from analyze.gate.base_runs import resolve_compared
from analyze.query.run_list import ListedRun, read_runs_by_id
from analyze.regressions.alerts import find_regressions
from analyze.regressions.detect import METRICS
from analyze.regressions.open_shifts import find_open_shifts
from analyze.regressions.series import Histories
from analyze.report.caveats import doubts_of
from analyze.report.sections import SECTIONS, ReportContext, read_context
from analyze.report.sections.answer import by_result, reported_run
from analyze.report.sections.flips import flips_of
from analyze.report.sections.glossary import terms_of
from analyze.summary.summarize import thresholds_of
from schemas.output.comparison import Comparison, ThresholdsUsed
from schemas.output.regressions import Regressions
from schemas.output.report import RunReport
from schemas.run.model_names import NO_NAMES, ModelNames

if TYPE_CHECKING:
    from analyze.query.session import Session
    from analyze.regressions.detect import ScanProgress
    from schemas.config.known_issues import KnownFile

READ = {name: read for name in SECTIONS if (read := SECTIONS[name].read) is not None}
"""What sections read; they are loaded with this module, for which the engine need not wait."""

WITHOUT = "none"
"""Said instead of a baseline: compare with nothing."""

MAX_TRANSCRIPT_BYTES = 2150 * 1024
"""Of a page for transcripts, unless somebody says otherwise."""


def build_report(
    session: Session,
    run_id: str,
    *,
    baseline: str | None,
    limits: ThresholdsUsed,
    transcript_bytes: int = MAX_TRANSCRIPT_BYTES,
    known: KnownFile | None = None,
    progress: ScanProgress | None = None,
    names: ModelNames = NO_NAMES,
) -> RunReport:
    """Return a report of one run.

    Args:
        session: the open lake.
        run_id: the run; it is known to be there.
        baseline: what `compare` takes as its base, or `none`; None: the run of the suite before.
        limits: thresholds in force, and where they are from.
        transcript_bytes: of transcripts, as a page embeds them.
        known: shifts that are acknowledged are not told as news.
        progress: is told how far the search for level shifts is.
        names: of models, for sentences; fields hold ids, `with_names` puts names there.

    Raises:
        RunNotFound: there is no such baseline; names the nearest.
        ConfigError: the baseline means nothing, or the run itself.
        ViewError: the lake cannot be read.
    """
    context = read_context(session, run_id, limits, names)
    ordered = by_result(context.summary, limits.thresholds.min_coverage)
    context = replace(context, summary=ordered)
    base_ids, comparison = _read_baseline(session, context.run, baseline, limits, known)
    context = replace(context, baseline=base_ids, comparison=comparison)
    histories = Histories(session, METRICS, progress=progress)
    shifts = _shifts(context, known, progress, histories)
    opened = find_open_shifts(
        session, [run_id], limits=limits.thresholds, known=known, histories=histories
    )
    context = replace(context, flips=flips_of(context), transcript_bytes=transcript_bytes)
    parts = {name: read(context) for name, read in READ.items()}
    report = RunReport(
        generated_at=context.summary.generated_at,
        benchlake_version=version("benchlake"),
        run=reported_run(session, context.run),
        baseline=tuple(
            reported_run(session, one) for one in read_runs_by_id(session, context.baseline)
        ),
        doubts=doubts_of(context, shifts),
        open_shifts=tuple(one.shift for one in opened.shifts),
        summary=context.summary,
        thresholds=thresholds_of(context.folder),
        comparison=context.comparison,
        flips=context.flips,
        shifts=shifts,
        glossary=(),
        added={name: parts.pop(name) for name in [*parts] if name not in SECTIONS.own},
        **parts,
    )
    return report.model_copy(update={"glossary": terms_of(report)})


def _read_baseline(
    session: Session,
    run: ListedRun,
    baseline: str | None,
    limits: ThresholdsUsed,
    known: KnownFile | None,
) -> tuple[tuple[str, ...], Comparison | None]:
    """Return the runs of the baseline, and the run beside them; without one there is neither."""
    text = _run_before(session, run) if baseline is None else baseline
    if text is None or baseline == WITHOUT:
        return (), None
    base, candidate = resolve_compared(
        session,
        text,
        run.run_id,
        limits=limits.thresholds,
        known=known,
        words=(*BASE_WORDS, WITHOUT),
    )
    return base.run_ids, compare(read_evidence(session, base, candidate), limits=limits)


def _run_before(session: Session, run: ListedRun) -> str | None:
    """Return the run of the suite that started before; a shard of the same plan is none."""
    group = run.row.run_group
    if group is None:
        return run.row.previous_run_id
    rows = session.rows(
        "select run_id from runs where suite_id = ? and run_no < ? "
        "and (run_group is null or run_group <> ?) order by run_no desc limit 1",
        [run.row.suite_id, run.row.run_no, group],
    )
    return rows[0][0] if rows else None


def _shifts(
    context: ReportContext,
    known: KnownFile | None,
    progress: ScanProgress | None,
    histories: Histories,
) -> Regressions | None:
    """Return the level shifts of the suite; None while it has one run."""
    suite_id = context.run.row.suite_id
    query = "select count(*) from stg_runs where suite_id = ?"
    if context.session.rows(query, [suite_id])[0][0] < 2:
        return None
    return find_regressions(
        context.session,
        limits=context.limits,
        suite=suite_id,
        known=known,
        progress=progress,
        history=histories.of(suite_id),
    )

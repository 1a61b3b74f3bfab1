"""A run as the rooms of a report get it: read, summed up, and beside its baseline."""

from contextlib import contextmanager
from dataclasses import replace

from analyze.comparison.compare import compare
from analyze.comparison.evidence.read import read_evidence
from analyze.comparison.evidence.run_sets import resolve_sides
from analyze.query.session import open_session
from analyze.regressions.alerts import find_regressions
from analyze.report.sections import read_context
from schemas.config.project import Thresholds
from schemas.output.comparison import ThresholdsUsed


def limits_of(**thresholds):
    """Return thresholds that no file says."""
    return ThresholdsUsed(thresholds=Thresholds(**thresholds), path=None, sha256=None)


def context_of(session, run_id, baseline=None, **thresholds):
    """Return the context of a run's report.

    Args:
        session: the open lake.
        run_id: the run.
        baseline: what `compare` takes as its base; None: there is none.
        thresholds: in place of the packaged ones.
    """
    limits, comparison, run_ids = limits_of(**thresholds), None, ()
    if baseline is not None:
        sides = resolve_sides(session, baseline, run_id)
        comparison = compare(read_evidence(session, *sides), limits=limits)
        run_ids = sides[0].run_ids
    context = read_context(session, run_id, limits)
    return replace(context, baseline=run_ids, comparison=comparison)


@contextmanager
def open_context(runs_dir, run_id="run-1", baseline=None, threads=None):
    """Give the same of a folder of runs, whose lake is open meanwhile."""
    with open_session(runs_dir, threads=threads) as session:
        yield context_of(session, run_id, baseline)


def shifts_of(context):
    """Return the level shifts of the suite of a run."""
    suite_id = context.run.row.suite_id
    return find_regressions(context.session, limits=context.limits, suite=suite_id)

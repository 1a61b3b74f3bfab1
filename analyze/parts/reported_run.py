"""A run at the head of a report: what was asked, and how much of it is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from analyze.query.run_ref import run_folder
from schemas.output.report import ReportedRun
from schemas.run.config import read_config
from schemas.run.layout import is_planned

if TYPE_CHECKING:
    from analyze.query.run_list import ListedRun
    from analyze.query.session import Session
    from schemas.run.config import RunConfig


def reported_run(session: Session, run: ListedRun) -> ReportedRun:
    """Return what a report says of a run, or of its baseline.

    Args:
        session: the open lake.
        run: as lists have it.

    Raises:
        SchemaError: the run's config is there and cannot be read.
        ViewError: the lake cannot be read.
    """
    run_id = run.run_id
    config = config_of_run(run_folder(session, run_id))
    asked, came = run.asked, run.came
    return ReportedRun(
        run_id=run_id,
        suite_id=asked.suite_id,
        suite_title=asked.suite_title,
        run_profile_id=asked.run_profile_id,
        started_at_ms=asked.started_at_ms,
        wall_clock_ms=came.wall_clock_ms,
        took_ms=run.took_ms,
        labels=asked.labels,
        is_imported=asked.is_imported,
        shard=None if config is None else config.narrowed.shard,
        benchlake_version=asked.benchlake_version,
        n_cases=n_cases_of(session, run_id),
        n_planned=came.n_planned,
        n_total=came.n_total,
        n_scorable=came.n_scorable,
        n_scored=came.n_scored,
        coverage=came.coverage,
    )


def config_of_run(folder: Path | None) -> RunConfig | None:
    """Return what a run was asked to do; None where its folder is elsewhere, or has no plan.

    Raises:
        SchemaError: it is there and cannot be read.
    """
    return None if folder is None or not is_planned(folder) else read_config(folder)


def n_cases_of(session: Session, run_id: str) -> int:
    """Return how many cases a run planned.

    Raises:
        ViewError: the lake cannot be read.
    """
    query = "select count(distinct case_id) from stg_plans where run_id = ?"
    ((n_cases,),) = session.rows(query, [run_id])
    return int(n_cases)

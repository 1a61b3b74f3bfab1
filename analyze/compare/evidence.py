"""All that a comparison reads of the lake, apart from what it makes of it.

Needs neither models nor numpy, so that the engine works while these load (`analyze.meanwhile`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from analyze.compare.outcomes import CaseOutcome, Causes, read_causes, read_outcomes
from analyze.compare.run_facts import among
from analyze.compare.sides import Chosen
from schemas.lake_files import month_of

if TYPE_CHECKING:
    from analyze.session import Session


class Evidence(NamedTuple):
    """Two sides and what is known of their runs."""

    base: Chosen
    candidate: Chosen
    rows: list[CaseOutcome]
    """Every case of the runs of both sides."""
    causes: Causes
    """Why trials have no verdict, of the runs that have such."""
    runs_dir: Path


def read_evidence(session: Session, base: Chosen, candidate: Chosen) -> Evidence:
    """Return what the lake knows of two sides.

    Raises:
        ViewError: the lake cannot be read.
    """
    run_ids = sorted({*base.run_ids, *candidate.run_ids})
    with session.only_months(_months(session, run_ids)):
        rows = read_outcomes(session, run_ids)
        short = {row.run_id for row in rows if row.counts.n_scored < row.counts.n_scorable}
        causes = read_causes(session, sorted(short))
    return Evidence(base, candidate, rows, causes, session.runs_dir)


def _months(session: Session, run_ids: Sequence[str]) -> set[str] | None:
    """Return the months that runs began in; None where one does not say when."""
    starts = [
        started_at_ms
        for (started_at_ms,) in session.rows(
            f"select distinct started_at_ms from stg_runs where {among(run_ids)}",  # noqa: S608
            run_ids,
        )
    ]
    return {month_of(start) for start in starts} if all(starts) else None

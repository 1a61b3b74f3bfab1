"""All that a comparison reads of the lake, apart from what it makes of it.

Needs neither models nor numpy, so that the engine works while these load (`analyze.cli_startup`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from analyze.comparison.evidence.judged import Scores, read_scores
from analyze.comparison.evidence.outcomes import (
    CaseOutcome,
    Causes,
    Cuts,
    read_causes,
    read_cuts,
    read_outcomes,
)
from analyze.comparison.evidence.past_runs import (
    PastCell,
    PastNights,
    Plan,
    past_nights,
    read_cells,
    read_plans,
)
from analyze.comparison.evidence.run_sets import ChosenSide
from schemas.lake import month_of

if TYPE_CHECKING:
    from analyze.query.session import Session


class Evidence(NamedTuple):
    """Two sides and what is known of their runs."""

    base: ChosenSide
    candidate: ChosenSide
    rows: list[CaseOutcome]
    """Every case of the runs of both sides."""
    causes: Causes
    """Why trials have no verdict, of the runs that have such."""
    runs_dir: Path
    past: Mapping[str, PastNights]
    """Nights of each of the candidate's models before it, by model_id."""
    cuts: Cuts
    """Where answers were cut off, of the runs that have such."""
    last_runs: Sequence[Sequence[str]]
    """The candidate and the runs of its suite before it, each with its shards, newest first."""
    cells: Sequence[PastCell]
    """What these came to with the candidate's models; none where both sides are the same runs."""
    scores: Scores
    """What judges said of the runs of both sides."""


def read_evidence(
    session: Session, base: ChosenSide, candidate: ChosenSide, *, before: Sequence[str] = ()
) -> Evidence:
    """Return what the lake knows of two sides.

    Past nights are those before the runs `before`, by default before the candidate's.

    Raises:
        ViewError: the lake cannot be read.
    """
    run_ids = sorted({*base.run_ids, *candidate.run_ids})
    plans = read_plans(session, {*base.run_ids, *candidate.run_ids}, before or candidate.run_ids)
    starts = [start for plan in plans for start in plan.starts_ms]
    known = [start for start in starts if start]
    months = {month_of(start) for start in known} if len(known) == len(starts) else None
    with session.only_months(months):
        rows = read_outcomes(session, run_ids)
        short = {row.run_id for row in rows if row.counts.n_scored < row.counts.n_scorable}
        causes = read_causes(session, sorted(short))
        cuts = read_cuts(session, sorted({row.run_id for row in rows if row.counts.n_truncated}))
        scores = read_scores(session, run_ids)
        nights = [plan for plan in plans if plan.is_before]
        runs = _last_runs(plans, set(candidate.run_ids))
        cells: list[PastCell] = []
        asked = {row.key.model_id for row in rows if row.run_id in candidate.run_ids}
        if asked and set(base.run_ids) != set(candidate.run_ids):
            read = dict.fromkeys([*(plan.run_ids for plan in nights), *runs])
            cells = read_cells(session, list(read), asked)
    past = past_nights(cells, nights)
    return Evidence(
        base, candidate, rows, causes, session.runs_dir, past, cuts, runs, cells, scores
    )


def _last_runs(plans: Sequence[Plan], candidate: set[str]) -> list[tuple[str, ...]]:
    """Return the candidate and the last runs of its suite before it, newest first."""
    judged = [plan for plan in plans if candidate & {*plan.run_ids}]
    suite_id = judged[-1].suite_id if judged else None
    before = [plan for plan in plans if plan.is_before and plan not in judged]
    runs = [plan.run_ids for plan in (*before, *judged) if plan.suite_id == suite_id]
    return runs[::-1]

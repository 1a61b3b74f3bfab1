"""The runs of a series since its pass rate last shifted: what a new run can be held against."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from analyze.shifts.levels import scan
from analyze.shifts.series import read_history
from schemas.thresholds import Thresholds

if TYPE_CHECKING:
    from analyze.session import Session
    from schemas.comparison import Axis
    from schemas.known import ShiftMetric

METRICS: tuple[ShiftMetric, ...] = ("passed_rate",)


def runs_since_shift(
    session: Session,
    suite_id: str,
    model_id: str,
    before: str,
    *,
    limits: Thresholds | None = None,
    allow: Collection[Axis] = (),
) -> list[str]:
    """Return the runs of one model before a run, since the last shift or change of the suite.

    Runs that lost more than a tenth of their verdicts, and parts of a suite, are not among them;
    of shards every one is. What comes after the run plays no part.

    Args:
        session: the open lake.
        suite_id: of the runs.
        model_id: that they asked.
        before: run_id of the run that is judged.
        limits: margin below which a shift is none; by default the packaged one.
        allow: with `case`, a case is the same whatever its content.

    Returns:
        run_ids, the oldest first; none when there is no such run.
    """
    history = read_history(
        session, METRICS, suite=suite_id, model=model_id, before=before, allow=allow
    )
    for series in history.series():
        if series.model_id != model_id:
            continue
        segments = scan(series, "passed_rate", limits or Thresholds()).segments
        if not segments:
            return []
        usable = np.flatnonzero(series.is_usable)
        newest = usable[(usable >= segments[-1].first) & (usable <= segments[-1].last)]
        return [run_id for place in newest for run_id in series.points[place].run_ids]
    return []

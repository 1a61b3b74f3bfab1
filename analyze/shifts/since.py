"""The runs of a series since each of its metrics last shifted: what a new run is held against."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from analyze.regressions.series import read_history
from analyze.shifts.levels import scan
from schemas.config.project import Thresholds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from analyze.query.session import Session
    from analyze.regressions.series import Histories, Series
    from schemas.output.comparison import Axis, Metric

    Ints = NDArray[np.int64]


def runs_since_shift(
    session: Session,
    suite_id: str,
    model_id: str,
    before: str,
    metrics: Sequence[Metric] = ("passed_rate",),
    *,
    limits: Thresholds | None = None,
    allow: Collection[Axis] = (),
    histories: Histories | None = None,
) -> dict[Metric, tuple[str, ...]]:
    """Return the runs of one model before a run since the last shift, of each metric its own.

    They begin anew as well when the suite changed. Runs that lost more than a tenth of their
    verdicts, and parts of a suite, are not among them; of shards every one is. What comes after
    the run plays no part.

    Args:
        session: the open lake.
        suite_id: of the runs.
        model_id: that they asked.
        before: run_id of the run that is judged.
        metrics: whose levels are looked for. One that no run has a value of has no levels: then
            all runs are returned.
        limits: margins below which a shift is none; by default the packaged ones.
        allow: with `case`, a case is the same whatever its content.
        histories: of these metrics and more, where others look at them too; with the same `allow`.

    Returns:
        run_ids by metric, the oldest first; none when there is no such run.
    """
    if histories is not None:
        history = histories.of(suite_id).cut(before=before)
    else:
        history = read_history(
            session, metrics, suite=suite_id, model=model_id, before=before, allow=allow
        )
    for series in history.series():
        if series.model_id == model_id:
            return {
                metric: tuple(
                    run_id
                    for place in _newest_level(series, metric, limits or Thresholds())
                    for run_id in series.points[place].run_ids
                )
                for metric in metrics
            }
    return dict.fromkeys(metrics, ())


def _newest_level(series: Series, metric: Metric, limits: Thresholds) -> Ints:
    """Return the places of the points of the newest level that say something."""
    usable = np.flatnonzero(series.is_usable)
    if metric != "passed_rate" and not series.measured[metric][0].any():
        return usable
    segments = scan(series, metric, limits).segments
    if not segments:
        return usable[:0]
    newest = segments[-1]
    return usable[(usable >= newest.first) & (usable <= newest.last)]

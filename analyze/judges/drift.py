"""Drift of judges: the same question about the same stored answer, asked at two times (S23).

Nothing of the model is in it, since its answer is the same. `collect evaluate RUN --force` asks
again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from analyze.comparison.judge_drift import drift_verdict
from analyze.judges.agreement import mean_with_limits
from analyze.judges.opinions import RunKey
from analyze.lake.overlay import read_sql
from analyze.stats.paired_means import paired_t
from schemas.output.judges import JudgeDrift

if TYPE_CHECKING:
    from analyze.query.session import Session

ALPHA = 0.05


class Rejudged(NamedTuple):
    """One stored answer that one judge run was asked about at two times."""

    by: RunKey
    unit: str
    first: float
    last: float
    first_ms: int
    last_ms: int
    first_model: str | None
    last_model: str | None


def read_rejudged(
    session: Session,
    run_ids: Sequence[str],
    profile: str | None = None,
    model: str | None = None,
) -> list[Rejudged]:
    """Return what judges were asked twice, in a stable order.

    Args:
        session: the open lake.
        run_ids: whose trials.
        profile: only of this evaluation profile.
        model: only about this one, by its model_id or model string.

    Raises:
        ViewError: the lake cannot be read.
    """
    sql = read_sql("judges/drift.sql").format(trials=read_sql("judges/trials.sql").rstrip())
    rows = session.rows(sql, [list(run_ids), model, profile, profile])
    return [Rejudged(RunKey(*row[:3]), *row[3:]) for row in rows]


def drifts(rejudged: Sequence[Rejudged]) -> Iterator[JudgeDrift]:
    """Yield how each judge run that was asked again has drifted."""
    by_run: defaultdict[RunKey, list[Rejudged]] = defaultdict(list)
    for one in rejudged:
        by_run[one.by].append(one)
    for by, own in by_run.items():
        cases: defaultdict[str, list[float]] = defaultdict(list)
        for one in own:
            cases[one.unit].append(one.last - one.first)
        differences = [fmean(some) for some in cases.values()]
        yield JudgeDrift(
            **by._asdict(),
            n_trials=len(own),
            n_cases=len(cases),
            first_at_ms=min(one.first_ms for one in own),
            last_at_ms=max(one.last_ms for one in own),
            first_models=_names(one.first_model for one in own),
            last_models=_names(one.last_model for one in own),
            difference=mean_with_limits(differences),
            verdict=drift_verdict(paired_t(differences), len(own), ALPHA),
        )


def _names(models: Iterator[str | None]) -> tuple[str, ...]:
    return tuple(sorted({name for name in models if name is not None}))

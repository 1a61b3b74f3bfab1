"""How trials of a run ended without a success, and whose fault it was.

How long successes of a run took: bins of both times, so that a chart is small for any run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.contracts import LatencyHistogramRow
from schemas.output.report import FailureCount, LatencyBin

if TYPE_CHECKING:
    from analyze.report.context import Asked

MOST_KINDS = 300
"""Ways to fail, over all models; more names than this only a made-up log has."""

SQL = """
with

kinds as (
    select
        model_id,
        failure_type,
        cause,
        counts_against_model,
        count(*) as n_trials
    from int_failures
    where run_id = ?
    group by model_id, failure_type, cause, counts_against_model
    order by n_trials desc, model_id, failure_type, cause
    limit ?
)

select
    model_id,
    failure_type,
    cause,
    counts_against_model,
    n_trials
from kinds
order by model_id, n_trials desc, failure_type, cause, counts_against_model
"""


def failures_of(asked: Asked) -> tuple[FailureCount, ...]:
    """Return the trials without a success by model and way to fail, the most frequent first.

    A time-out that the provider answers for is counted apart from one of the model. Of more than
    `MOST_KINDS` ways the rarest are left out.

    Raises:
        ViewError: the lake cannot be read.
    """
    rows = asked.session.rows(SQL, [asked.run_id, MOST_KINDS])
    return tuple(
        FailureCount(
            model_id=model_id,
            failure_type=failure_type,
            cause=cause,
            counts_against_model=counts_against_model,
            n_trials=n_trials,
        )
        for model_id, failure_type, cause, counts_against_model, n_trials in rows
    )


def latency_of(asked: Asked) -> tuple[LatencyBin, ...]:
    """Return the bins of e2e_ms and ttft_ms that hold a success, by model, metric and bin.

    Raises:
        ViewError: the lake cannot be read.
    """
    rows = asked.session.read(LatencyHistogramRow, "run_id = ?", [asked.run_id])
    return tuple(
        LatencyBin(
            model_id=row.model_id,
            metric=row.metric,
            bin_from_ms=row.bin_from_ms,
            bin_to_ms=row.bin_to_ms,
            n_trials=row.n_trials,
        )
        for row in rows
    )

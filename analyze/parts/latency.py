"""How long successes of a run took: bins of both times, so that a chart is small for any run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.contracts import LatencyHistogramRow
from schemas.output.report import LatencyBin

if TYPE_CHECKING:
    from analyze.report.context import Asked


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

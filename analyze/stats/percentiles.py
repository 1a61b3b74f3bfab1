"""Percentiles as they are told: which are beyond the time limit, which have enough behind them.

The percentiles themselves are SQL (`model_summary`); nothing is computed from samples here. There a
time-out that counts against the model is later than every success, so that a percentile that
reaches into the time-outs has no value.
"""

from __future__ import annotations

from schemas.output.summary import PercentileName, Percentiles, Supported

TAIL_TRIALS = 5
"""Trials that must lie above a percentile: p95 from 100 trials on, p99 from 500."""


def is_supported(n: int, percent: int) -> bool:
    """Return n (1 - q) >= 5, in whole numbers so that the bound itself is exact."""
    return n * (100 - percent) >= 100 * TAIL_TRIALS


def supported(n: int) -> Supported:
    """Return which of the summary's percentiles n trials support."""
    return Supported(p50=is_supported(n, 50), p95=is_supported(n, 95), p99=is_supported(n, 99))


def percentiles(
    values: tuple[float | None, float | None, float | None],
    mean: float | None,
    n: int,
    n_timeouts: int,
) -> Percentiles:
    """Return the percentiles of one time of one model.

    Args:
        values: p50, p95 and p99 as the view has them, in ms; None: no trial, or beyond the limit.
        mean: of the successes, in ms.
        n: successes whose time is known.
        n_timeouts: time-outs that count in these percentiles.
    """
    names: tuple[PercentileName, ...] = ("p50", "p95", "p99")
    n_all = n + n_timeouts
    beyond = [name for name, value in zip(names, values, strict=True) if n_all and value is None]
    p50, p95, p99 = values
    return Percentiles(
        p50=p50,
        p95=p95,
        p99=p99,
        mean=mean,
        n=n,
        supported=supported(n_all),
        n_timeouts=n_timeouts,
        beyond_limit=tuple(beyond),
    )

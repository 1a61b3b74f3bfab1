"""Whether enough trials stand behind a percentile for it to be compared.

The percentiles themselves are SQL (`model_summary`); nothing is computed from samples here.
"""

from __future__ import annotations

from schemas.summary import Supported

TAIL_TRIALS = 5
"""Trials that must lie above a percentile: p95 from 100 trials on, p99 from 500."""


def is_supported(n: int, percent: int) -> bool:
    """Return n (1 - q) >= 5, in whole numbers so that the bound itself is exact."""
    return n * (100 - percent) >= 100 * TAIL_TRIALS


def supported(n: int) -> Supported:
    """Return which of the summary's percentiles n trials support."""
    return Supported(p50=is_supported(n, 50), p95=is_supported(n, 95), p99=is_supported(n, 99))

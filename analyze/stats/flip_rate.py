"""How often two trials of one cell disagree, and whether that makes it flaky.

The chance is that of two trials drawn at random under the same fingerprint, whatever their order:
transitions between neighbouring runs are never counted.
"""

from __future__ import annotations

from typing import Literal

MIN_TRIALS = 5
"""Fewest trials for limits."""

FLAKY_FROM = 0.10
"""Chance of a disagreement that makes a cell flaky."""

TAIL = 0.025
"""On either side of the 95 % limits."""

Steadiness = Literal["flaky", "steady", "unknown"]


def flip_rate(k: int, n: int) -> float | None:
    """Return the share of disagreeing pairs, 2 k (n - k) / (n (n - 1)), or None below two trials.

    Nei 1978 (Genetics 89:583) for this unbiased estimate of 2 p (1 - p).

    Args:
        k: trials that passed.
        n: trials with a verdict.

    Raises:
        ValueError: not 0 <= k <= n.
    """
    _check(k, n)
    return 2 * k * (n - k) / (n * (n - 1)) if n > 1 else None


def flip_limits(k: int, n: int) -> tuple[float, float] | None:
    """Return the 95 % limits of the chance that two trials disagree, or None below five trials.

    Jeffreys limits of the pass rate p (Brown, Cai, DasGupta 2001, section 4.3: 0 and 1 at the
    ends), mapped by 2 p (1 - p); the upper one is 0.5 when they straddle one half.

    Raises:
        ValueError: not 0 <= k <= n.
    """
    _check(k, n)
    if n < MIN_TRIALS:
        return None
    low, high = _jeffreys(k, n)
    ends = 2 * low * (1 - low), 2 * high * (1 - high)
    return min(ends), 0.5 if low <= 0.5 <= high else max(ends)


def steadiness(k: int, n: int) -> Steadiness:
    """Return `flaky` when two trials surely disagree in 10 % or more, `steady` when surely less.

    Raises:
        ValueError: not 0 <= k <= n.
    """
    limits = flip_limits(k, n)
    if limits is None:
        return "unknown"
    low, high = limits
    return "flaky" if low >= FLAKY_FROM else "steady" if high < FLAKY_FROM else "unknown"


def _jeffreys(k: int, n: int) -> tuple[float, float]:
    from scipy.special import betaincinv  # noqa: PLC0415 - half a second that others need not wait

    low = 0.0 if k == 0 else float(betaincinv(k + 0.5, n - k + 0.5, TAIL))
    high = 1.0 if k == n else float(betaincinv(k + 0.5, n - k + 0.5, 1 - TAIL))
    return low, high


def _check(k: int, n: int) -> None:
    if not 0 <= k <= n:
        message = f"passes lie between 0 and the number of trials, got {k} of {n}"
        raise ValueError(message)

"""Whether a level that fell is back: the newest runs beside the level before.

The cases are fixed, the same ones in every run, so only their trials vary. A level is back when the
last seven runs since the break, at least four, are near the level before and not shown to be lower.
Four keep a lucky night from healing anything; seven keep an old drop from being averaged away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from analyze.stats.changepoints.scan import BLUR, Bools, Floats

MOST_RUNS = 7
FEWEST_RUNS = 4

Z_ONE_SIDED = NormalDist().inv_cdf(0.95)
"""95 % quantile of the standard normal distribution."""


@dataclass(frozen=True, slots=True)
class Change:
    """A level beside the one before, over the cases that both have; nan where there is none.

    Attributes:
        before: mean over cases of the rate, or of the logarithm.
        change: newer level less the one before.
        error: standard error of the change for these very cases; of rates only, else 0.
    """

    before: Floats
    change: Floats
    error: Floats


def change_of_rates(
    passed_before: ArrayLike, scored_before: ArrayLike, passed: ArrayLike, scored: ArrayLike
) -> Change:
    """Return what changed in the mean over cases of the pooled pass rate.

    Trials of a level are pooled within each case. The variance of the change is
    sum(q (1 - q) N / (N - 1) (1 / N_before + 1 / N_after)) / n^2 over the n cases that have trials
    on both sides, with q the rate of a case over its N trials of both: were nothing different, they
    would be of one rate.

    Args:
        passed_before: cases; trials of the level before that passed.
        scored_before: cases; trials of the level before with a verdict.
        passed: ... x cases; the same of the newer level.
        scored: ... x cases.
    """
    k0, m0 = np.asarray(passed_before, float), np.asarray(scored_before, float)
    k1, m1 = np.asarray(passed, float), np.asarray(scored, float)
    both = (m0 > 0) & (m1 > 0)
    n_cases = _or_nan(both.sum(axis=-1))
    old = np.where(both, k0 / np.maximum(m0, 1), 0.0)
    new = np.where(both, k1 / np.maximum(m1, 1), 0.0)
    trials = np.where(both, m0 + m1, 2.0)
    q = np.where(both, (k0 + k1) / trials, 0.0)
    within = q * (1 - q) * trials / (trials - 1)
    shares = 1 / np.maximum(m0, 1) + 1 / np.maximum(m1, 1)
    variance = (within * shares).sum(axis=-1) / n_cases**2
    return Change(
        before=old.sum(axis=-1) / n_cases,
        change=(new - old).sum(axis=-1) / n_cases,
        error=np.sqrt(variance),
    )


def change_of_values(logs_before: ArrayLike, logs: ArrayLike) -> Change:
    """Return what changed in the mean over cases of a logarithm.

    Args:
        logs_before: cases; mean over the runs of the level before, nan where there is none.
        logs: ... x cases; the same of the newer level.
    """
    old, new = np.asarray(logs_before, float), np.asarray(logs, float)
    both = np.isfinite(old) & np.isfinite(new)
    n_cases = _or_nan(both.sum(axis=-1))
    before = np.where(both, old, 0.0).sum(axis=-1) / n_cases
    change = np.where(both, new - old, 0.0).sum(axis=-1) / n_cases
    return Change(before, change, np.zeros_like(change))


def rate_is_back(
    passed_before: ArrayLike,
    scored_before: ArrayLike,
    passed: ArrayLike,
    scored: ArrayLike,
    *,
    margin: float,
) -> Bools:
    """Return after which runs since a drop the pass rate was back.

    Back: the last seven runs, at least four, lie at most half the margin below the level before,
    and are not lower at one-sided 5 %.

    Args:
        passed_before: cases; trials of the level before that passed.
        scored_before: cases; trials of the level before with a verdict.
        passed: runs x cases, the first run of the new level first.
        scored: runs x cases.
        margin: 0.05 for 5 points.
    """
    found = change_of_rates(passed_before, scored_before, _last_sums(passed), _last_sums(scored))
    near = found.change >= -margin / 2 - BLUR
    return _from_fewest(near & (found.change >= -Z_ONE_SIDED * found.error - BLUR))


def value_is_back(logs_before: ArrayLike, logs: ArrayLike, *, ratio_margin: float) -> Bools:
    """Return after which runs since a rise a time or a cost was back.

    Back: over the last seven runs, at least four, the ratio to the level before is at most
    1 + half the margin.

    Args:
        logs_before: cases; mean over the runs of the level before, nan where there is none.
        logs: runs x cases, the first run of the new level first; nan where there is no value.
        ratio_margin: 0.1 for ratios of 0.90 to 1.10.
    """
    change = change_of_values(logs_before, last_means(logs)).change
    return _from_fewest(change <= math.log1p(ratio_margin / 2) + BLUR)


def last_means(logs: ArrayLike) -> Floats:
    """Return for each run the mean of each case over the last seven; nan where there is none.

    Args:
        logs: runs x cases; nan where there is no value.
    """
    values = np.asarray(logs, float)
    known = np.isfinite(values)
    means: Floats = _last_sums(np.where(known, values, 0.0)) / _or_nan(_last_sums(known))
    return means


def _last_sums(matrix: ArrayLike) -> Floats:
    """Return for each row the sum of it and up to six before it."""
    sums: Floats = np.asarray(matrix, float).cumsum(axis=0)
    sums[MOST_RUNS:] -= sums[:-MOST_RUNS].copy()
    return sums


def _from_fewest(holds: Bools) -> Bools:
    """Return where it holds with runs enough behind it."""
    enough = np.arange(1, len(holds) + 1) >= FEWEST_RUNS
    return holds & enough


def _or_nan(counts: ArrayLike) -> Floats:
    """Return counts to divide by; nothing divided by nothing is nan, without a warning."""
    numbers = np.asarray(counts, float)
    return np.where(numbers > 0, numbers, np.nan)

"""Which of two differences over the same cases is the likelier cause: the judge's, or the model's.

A judge was asked about answers of a base at two times, and after that about answers of a candidate.
Of each case there are its drift, last minus first score of the base, and the change of the model,
candidate minus last score of the base. Both share the last score, so they are taken as one draw of
two correlated normal numbers, with means and covariance unknown. "The judge alone" says that the
change is 0 on average, "the model alone" that the drift is. Their maximum likelihoods are those of
Anderson (An Introduction to Multivariate Statistical Analysis, 2003, section 5.3): the ratio is
((1 + t_drift^2 / (n - 1)) / (1 + t_change^2 / (n - 1)))^(n / 2), and each against "neither" is the
t test of the intercept in a regression on the other one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from analyze.stats.paired_means import MIN_PAIRS, two_sided_p
from schemas.output.score_drift import Cause

MIN_RATIO = 5.0
"""Likelihood ratio from which one cause is named and not the other."""

MAX_BOTH_P = 0.001
"""P of either alone from which both are named: each is beyond what the other may lend it."""


def likelier_cause(
    drift: Sequence[float],
    change: Sequence[float],
    *,
    rounding: tuple[float, float] = (0.0, 0.0),
    alpha: float = 0.05,
) -> Cause | None:
    """Return what has likelier moved the scores; None where nothing is shown to have moved them.

    Args:
        drift: of each case, or cluster of them, in points.
        change: of the same, in the same order.
        rounding: least variance of each, which scores hide that are rounded to whole points.
        alpha: two-sided chance of seeing either where there is none.

    Raises:
        ValueError: they are not of the same cases.
    """
    n = len(drift)
    if n != len(change):
        message = f"drift is of {n} cases, change of {len(change)}"
        raise ValueError(message)
    if n < MIN_PAIRS:
        return None
    means = fmean(drift), fmean(change)
    variances = tuple(
        max(fmean((value - mean) ** 2 for value in values), least)
        for values, mean, least in zip((drift, change), means, rounding, strict=True)
    )
    shared = fmean((a - means[0]) * (b - means[1]) for a, b in zip(drift, change, strict=True))
    own = [_alone(mean, variance) for mean, variance in zip(means, variances, strict=True)]
    if max(_p(one, n - 1) for one in own) <= MAX_BOTH_P:
        return "both"
    ratio = (math.log1p(own[0]) - math.log1p(own[1])) * n / 2
    shown = [
        _p(_beyond(means[one], means[1 - one], variances[one], variances[1 - one], shared), n - 2)
        for one in (0, 1)
    ]
    if min(shown) > alpha:
        return None
    if ratio >= math.log(MIN_RATIO) and shown[0] <= alpha:
        return "judge"
    if -ratio >= math.log(MIN_RATIO) and shown[1] <= alpha:
        return "model"
    return "not_known"


def _alone(mean: float, variance: float) -> float:
    """Return t^2 / (n - 1) of a mean; without end where nothing varies."""
    if variance == 0:
        return 0.0 if mean == 0 else math.inf
    return mean * mean / variance


def _beyond(mean: float, other: float, variance: float, others: float, shared: float) -> float:
    """Return t^2 / (n - 2) of the intercept of one difference in a regression on the other.

    It is the part by which the residual sum of squares grows where the intercept has to be 0.
    """
    residual = variance - (shared * shared / others if others else 0.0)
    moment = others + other * other
    through = variance + mean * mean
    through -= (shared + mean * other) ** 2 / moment if moment else 0.0
    if residual <= 0:
        return math.inf if through > 0 else 0.0
    return max(through / residual - 1, 0.0)


def _p(ratio: float, df: int) -> float:
    """Return the two-sided p of a t whose square is `ratio` times its degrees of freedom."""
    return two_sided_p(math.sqrt(ratio * df), 1.0, df)

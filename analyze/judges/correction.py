"""Pass rates by a judge, corrected with a few labels of people: PPI++ and Rogan-Gladen.

Both take it that the labelled cases are a random sample of those that were judged. Neither is ever
the only number: the rate by the labels alone needs no judge to be right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from analyze.stats.intervals import Z95, wilson
from analyze.stats.paired_means import t_quantile

MIN_LABELS = 60
"""Labelled cases below which no correction is trusted: too few failures of the judge are seen."""

PSEUDO = ((0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0))
"""Label and verdict of four made-up cases: an error of either kind that was never seen may come."""


@dataclass(frozen=True)
class CorrectedRate:
    """A rate with its 95 % limits."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class LabelledCase:
    """One case, or cluster, with labels: the share that passed, by people and by the judge."""

    label: float
    verdict: float


def ppi(labelled: Sequence[LabelledCase], verdicts: Sequence[float]) -> CorrectedRate:
    """Return the rate by PPI++ (Angelopoulos, Duchi & Zrnic 2023, arXiv 2311.01453).

    mean(Y) - lambda (mean(F) - mean(F')), with lambda = cov(Y, F) / ((1 + n / N) var(F)) between 0
    and 1, n labelled cases and N others; the variance is var(Y - lambda F) / n + lambda^2 var(F') /
    N. Where the judge errs seldom the sample hardly shows it, so var(Y - lambda F) is over four
    made-up cases more. The limits are Wilson's for as many effective cases as that variance means,
    with Student's t: within 0 and 1, and right near them.

    Args:
        labelled: at least two.
        verdicts: of the judge on each case without a label; at least two.
    """
    n, others = len(labelled), len(verdicts)
    labels = [one.label for one in labelled]
    judged = [one.verdict for one in labelled]
    spread = _variance([*judged, *verdicts])
    weight = 0.0
    if spread > 0:
        mean_label, mean_judged = fmean(labels), fmean(judged)
        together = math.fsum(
            (one.label - mean_label) * (one.verdict - mean_judged) for one in labelled
        ) / (n - 1)
        weight = min(max(together / (spread * (1 + n / others)), 0.0), 1.0)
    rate = fmean(labels) - weight * (fmean(judged) - fmean(verdicts))
    rest = [y - weight * f for y, f in (*zip(labels, judged, strict=True), *PSEUDO)]
    error = _variance(rest) / n + weight**2 * _variance(verdicts) / others
    inside = min(max(rate, 1 / (2 * n)), 1 - 1 / (2 * n))
    rate = min(max(rate, 0.0), 1.0)
    low, high = wilson(rate, inside * (1 - inside) / error, t_quantile(0.975, n - 1))
    return CorrectedRate(rate, low, high)


def _variance(values: Sequence[float]) -> float:
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


@dataclass(frozen=True)
class Confusion:
    """Labelled trials by label and verdict."""

    true_pass: int
    """Passed by both."""
    false_fail: int
    """Passed by people, failed by the judge."""
    false_pass: int
    """Failed by people, passed by the judge."""
    true_fail: int
    """Failed by both."""

    @property
    def n_passed(self) -> int:
        """Passed by people."""
        return self.true_pass + self.false_fail

    @property
    def n_failed(self) -> int:
        """Failed by people."""
        return self.false_pass + self.true_fail

    @property
    def n(self) -> int:
        """All labelled trials."""
        return self.n_passed + self.n_failed


def youden_low(found: Confusion) -> float | None:
    """Return the lower 95 % limit of sensitivity + specificity - 1; None: one is not known."""
    if not found.n_passed or not found.n_failed:
        return None
    rates = [
        (hits / n, wilson(hits / n, n)[0])
        for hits, n in ((found.true_pass, found.n_passed), (found.true_fail, found.n_failed))
    ]
    return low_of_sum(rates) - 1


def low_of_sum(rates: Sequence[tuple[float, float]]) -> float:
    """Return the lower limit of a sum of independent rates by MOVER (Zou & Donner 2008).

    Args:
        rates: each with its own lower limit.
    """
    return math.fsum(rate for rate, _ in rates) - math.hypot(*(rate - low for rate, low in rates))


def rogan_gladen(found: Confusion, n_judged: int, judged_rate: float) -> CorrectedRate | None:
    """Return the rate by Rogan & Gladen 1978 with the limits of Lang & Reiczigel 2014.

    (F + Sp - 1) / (Se + Sp - 1), each of the three with a few made-up observations, and a shift of
    the limits for the skewness that sensitivity and specificity bring in.

    Args:
        found: labelled trials.
        n_judged: trials with a verdict of the judge, labelled ones included.
        judged_rate: share of them that it passed.

    Returns:
        None where the judge may be no better than chance: `youden_low` is not above 0.
    """
    least = youden_low(found)
    if least is None or least <= 0:
        return None
    z2 = Z95**2
    m1, m0, m = found.n_passed + 2, found.n_failed + 2, n_judged + z2
    seen, spared = (found.true_pass + 1) / m1, (found.true_fail + 1) / m0
    shown = (n_judged * judged_rate + z2 / 2) / m
    power = seen + spared - 1
    rate = min(max((shown + spared - 1) / power, 0.0), 1.0)
    of_seen, of_spared = seen * (1 - seen) / m1, spared * (1 - spared) / m0
    shift = 2 * z2 * (rate * of_seen - (1 - rate) * of_spared)
    error = (
        math.sqrt(shown * (1 - shown) / m + rate**2 * of_seen + (1 - rate) ** 2 * of_spared) / power
    )
    centre = rate + shift
    return CorrectedRate(rate, max(centre - Z95 * error, 0.0), min(centre + Z95 * error, 1.0))

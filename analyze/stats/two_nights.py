"""What the nights add to a planned comparison: two runs that one server answered at two times.

A night shifts every case's rate by about as much on the logit scale, 0.15 where no history says
how much: the level moves by 0.15 times the variance within cases. The comparison of two nights is
decided by the standard error of its interval with this variance added, and Student's t with the
degrees of freedom of Satterthwaite 1946. The interval is MOVER's (Newcombe 1998), of which the
expected width is taken. Standard library only: the collector plans with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

from analyze.stats.exact_power import PairModel
from analyze.stats.intervals import PRIOR_SHARE, PRIOR_WEIGHT, Z90, Z95, wilson
from analyze.stats.power import most_alike, smallest_shown
from analyze.stats.student import t_quantile

LOGIT_SD = 0.15
"""How much nights vary where nothing is known, on the logit scale."""

PRIOR_DF = 4
"""Degrees of freedom that the assumption is worth."""

FEWEST_RUNS = 3
"""Fewer tell nothing of how nights vary."""

MOST_CASES = 1_000_000
"""What so many do not show, no number of cases shows."""


class Nights(NamedTuple):
    """How much the level of one model is known to vary from night to night."""

    seen: float = 0.0
    """Variance of the level over the runs, less what the trials explain; at least 0."""
    n_runs: int = 0
    """Runs behind it."""

    @property
    def is_assumed(self) -> bool:
        """Whether no history says a thing."""
        return self.n_runs < FEWEST_RUNS

    @property
    def df(self) -> int:
        """Degrees of freedom of the variance."""
        return PRIOR_DF + (0 if self.is_assumed else self.n_runs - 1)

    def variance(self, within: float) -> float:
        """Return the variance of one night.

        Args:
            within: mean variance of a trial within its case.
        """
        usual = (LOGIT_SD * within) ** 2
        return (
            usual if self.is_assumed else shrunk_variance(usual, PRIOR_DF, self.seen, self.n_runs)
        )


def shrunk_variance(usual: float, df: int, seen: float, n_runs: int) -> float:
    """Return the variance that some runs show, drawn towards the usual one while they are few.

    Args:
        usual: variance where no history says it.
        df: degrees of freedom that it is worth.
        seen: variance over the runs, less what the trials explain; at least 0.
        n_runs: runs behind it.
    """
    return (df * usual + (n_runs - 1) * seen) / (df + n_runs - 1)


def interval_se(n_cases: int, repetitions: float, model: PairModel, drop: float) -> float:
    """Return the standard error that the interval of the difference is expected to have.

    Its side that faces zero, over z: of the better rate the lower half, of the worse the upper one.

    Args:
        n_cases: cases that both runs ask.
        repetitions: trials of each case in each run.
        model: of the two runs.
        drop: from the better rate to the worse.
    """
    p, worse = model.p, max(model.p - drop, 0.0)
    spread = 1 + (repetitions - 1) * model.rho
    prior = PRIOR_WEIGHT * (1 + PRIOR_SHARE * (repetitions - 1))

    def n_eff(rate: float) -> float:
        seen = n_cases * min(rate, 1 - rate)
        return n_cases * repetitions * (PRIOR_WEIGHT + seen) / (prior + seen * spread)

    down = p - wilson(p, n_eff(p))[0]
    up = wilson(worse, n_eff(worse))[1] - worse
    kappa = min(model.kappa, most_alike(p, worse, model.rho))
    shared = model.rho * kappa * repetitions / spread
    r = shared * (1 - 1 / n_cases)
    return math.sqrt(max(down**2 + up**2 - 2 * r * down * up, 0.0)) / Z95


def degrees(se: float, night_variance: float, night_df: int) -> int:
    """Return the degrees of freedom of se^2 + night_variance, of which only the latter has few."""
    if night_variance == 0:
        return MOST_CASES
    found = (se**2 + night_variance) ** 2 * night_df / night_variance**2
    return max(int(min(found, MOST_CASES)), 1)


def night_mde(
    n_cases: int,
    repetitions: float,
    model: PairModel,
    night_variance: Callable[[float], float],
    night_df: int,
    *,
    alpha: float,
    power: float,
) -> float | None:
    """Return the smallest drop D = (t(1 - alpha/2) + t(power)) sqrt(SE^2 + V); None: there is none.

    Args:
        n_cases: cases that both runs ask.
        repetitions: trials of each case in each run.
        model: of the two runs.
        night_variance: V, what the nights add to the variance of the difference, of a drop.
        night_df: degrees of freedom behind it.
        alpha: two-sided chance of a false alarm.
        power: chance of showing the drop.
    """
    drop: float | None = 0.0
    for _ in range(3):  # the degrees of freedom depend on the drop a little
        if drop is None:
            return None
        df = degrees(interval_se(n_cases, repetitions, model, drop), night_variance(drop), night_df)
        quantiles = t_quantile(1 - alpha / 2, df) + t_quantile(power, df)

        def is_shown(drop: float, quantiles: float = quantiles) -> bool:
            se = interval_se(n_cases, repetitions, model, drop)
            return quantiles * math.sqrt(se**2 + night_variance(drop)) <= drop

        drop = smallest_shown(model.p, is_shown)
    return drop


def cases_for_unchanged(
    se: Callable[[int], float],
    margin: float,
    *,
    z: float = Z90,
    night_variance: float = 0.0,
    night_df: int = PRIOR_DF,
    power: float = 0.8,
) -> int | None:
    """Return how many cases show that nothing changed, when nothing did: both limits are inside.

    Each limit of the 90 % interval lies inside the margin with a chance of (1 + power) / 2, so that
    both do with the power (Schuirmann 1987): 1.6449 + 1.2816 standard errors, 3.17 times the cases
    at which the expected interval just fits.

    Args:
        se: standard error of the difference at a number of cases.
        margin: as a share, above 0.
        z: normal quantile of the limits that must lie inside it.
        night_variance: of the difference between two nights; 0 within one.
        night_df: degrees of freedom behind it.
        power: wanted.

    Returns:
        At least 2; None when no number of cases is enough, since the nights vary too much.
    """
    each = (1 + power) / 2
    normal = z + NormalDist().inv_cdf(each)

    def is_enough(n_cases: int) -> bool:
        width = se(n_cases)
        if night_variance == 0:
            return normal * width <= margin
        df = degrees(width, night_variance, night_df)
        quantiles = t_quantile(NormalDist().cdf(z), df) + t_quantile(each, df)
        return quantiles * math.sqrt(width**2 + night_variance) <= margin

    return fewest(is_enough, 2)


def fewest(is_enough: Callable[[int], bool], least: int) -> int | None:
    """Return the fewest cases from `least` on that are enough, None when a million are not."""
    few, many = least - 1, least
    while not is_enough(many):
        if many >= MOST_CASES:
            return None
        few, many = many, many * 2
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if is_enough(middle) else (middle, many)
    return many

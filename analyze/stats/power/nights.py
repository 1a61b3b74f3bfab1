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
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

from analyze.stats.intervals import PRIOR_SHARE, PRIOR_WEIGHT, Z90, Z95, wilson
from analyze.stats.paired_means import t_quantile
from analyze.stats.power.exact import PairModel
from analyze.stats.power.smallest_drop import most_alike, smallest_shown

LOGIT_SD = 0.15
"""How much nights vary where nothing is known, on the logit scale."""

PRIOR_DF = 4
"""Degrees of freedom that the assumption is worth."""

FEWEST_RUNS = 3
"""Fewer tell nothing of how nights vary."""

MOST_CASES = 1_000_000
"""What so many do not show, no number of cases shows."""

MOST_DF = 100_000
"""Degrees of freedom beyond which limits are the normal ones to four digits."""

FEW_DF = 64
"""Below, each whole number of them has quantiles of its own; from here on each power of two."""


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


def night_reach(
    se: float, night_variance: float, night_df: int, chances: tuple[float, float]
) -> float:
    """Return the sum of two quantiles of Student's t times the standard error with nights in it.

    The degrees of freedom are those of Satterthwaite, of which only the nights' part has few; they
    are taken as a real number, as between whole ones the quantiles lie in 1 / df. As cases grow
    they fall faster than the error does, by a percent at most: no size is promised more than
    endless cases hold, so that more cases or repetitions never show less.

    Args:
        se: of the cases, without the nights.
        night_variance: that nights add to the variance of the difference.
        night_df: degrees of freedom behind it.
        chances: probabilities of the two quantiles.
    """
    error = math.sqrt(se**2 + night_variance)
    if night_variance == 0:
        return math.fsum(map(NormalDist().inv_cdf, chances)) * error
    df = min((se**2 + night_variance) ** 2 * night_df / night_variance**2, MOST_DF)
    endless = _quantiles(night_df, chances) * math.sqrt(night_variance)
    return max(_between(df, chances) * error, endless)


def _between(df: float, chances: tuple[float, float]) -> float:
    """Return the quantiles at a real number of degrees of freedom, off by less than 0.0001."""
    low = math.floor(df)
    after = low + 1
    if df >= FEW_DF:
        low = 1 << low.bit_length() - 1
        after = 2 * low
    share = (1 / df - 1 / low) / (1 / after - 1 / low)
    return (1 - share) * _quantiles(low, chances) + share * _quantiles(after, chances)


@lru_cache(maxsize=1_024)
def _quantiles(df: int, chances: tuple[float, float]) -> float:
    return math.fsum(t_quantile(chance, df) for chance in chances)


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
    chances = 1 - alpha / 2, power

    def is_shown(drop: float) -> bool:
        se = interval_se(n_cases, repetitions, model, drop)
        return night_reach(se, night_variance(drop), night_df, chances) <= drop

    return smallest_shown(model.p, is_shown)


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
    chances = NormalDist().cdf(z), (1 + power) / 2

    def is_enough(n_cases: int) -> bool:
        return night_reach(se(n_cases), night_variance, night_df, chances) <= margin

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

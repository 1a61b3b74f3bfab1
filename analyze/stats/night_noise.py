"""How much nights vary, and what that adds to a difference between runs of different nights.

All cases of a night share its server, its load and its neighbours, so a night is one draw however
many cases it asks: the spread of the cases alone makes a difference between two nights look sure
that is none. The variance s^2 of a night comes from past runs of the same level, the variance of
their means less what the cases explain of it, and is drawn towards what nights usually do while
runs are few (a scaled inverse chi-squared prior with few degrees of freedom; Gelman, Bayesian Data
Analysis, section 2.6).

Standard library only, so that a comparison of two runs need not load numpy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from analyze.stats import paired_means
from analyze.stats.intervals import Z90, Z95
from analyze.stats.paired_rates import RateInterval
from analyze.stats.power.nights import LOGIT_SD, MIN_KNOWN_RUNS, PRIOR_DF, shrunk_variance

LOG_SD = 0.12
"""Of the logarithm of a time, a cost or a count between nights, where no history says it."""

LOG_DF = 3
"""Degrees of freedom that this assumption is worth."""

MAX_RUNS = 20
"""The newest so many are what nights are like now."""

MAX_DF = 200
"""Degrees of freedom are counted up to here, where limits are 0.6 % wider than the normal ones."""

Value = TypeVar("Value")

STEPS = 50
"""Of a fit with holes; it is right to nine digits much earlier."""


class NightVariance(NamedTuple):
    """Variance of one night around the level of its series.

    Attributes:
        variance: s^2, of a mean of logarithms or of a pass rate between 0 and 1.
        df: degrees of freedom of it, those of the assumption included.
        n_runs: past runs behind it; below `MIN_KNOWN_RUNS` it is the assumption.
        seen: the variance that these runs show by themselves; None where there are too few.
    """

    variance: float
    df: int
    n_runs: int
    seen: float | None = None

    def of_sides(self, n_base: int, n_candidate: int) -> float:
        """Return the variance of a difference between means of so many nights on either side."""
        return self.variance * (1 / n_base + 1 / n_candidate)


class NightDifference(NamedTuple):
    """A difference of pass rates between nights: the p of no change, and its limits.

    Attributes:
        df: degrees of freedom of the p, by Satterthwaite.
    """

    p: float
    low: float
    high: float
    low90: float
    high90: float
    df: int


def variance_of_logs(table: Sequence[Sequence[float | None]]) -> NightVariance:
    """Return how much nights vary in the logarithm of a time, a cost or a count.

    s^2 = (3 * 0.12^2 + f * e^2) / (3 + f), with e^2 the variance of the run means around their mean
    less the residual mean square of the case x run table / n, not below 0, and f = T - 1. With
    holes the run means are the run effects of the additive fit, so that a case which is missing
    moves none of them.

    Args:
        table: past runs x cases, the mean logarithm of each; None where there is none.

    Raises:
        ValueError: the runs do not have equally many cases.
    """
    runs = [run for run in _equally_long(table) if any(value is not None for value in run)]
    n_runs = len(runs)
    if n_runs < MIN_KNOWN_RUNS:
        return NightVariance(LOG_SD**2, LOG_DF, n_runs)
    effects, square = _additive(runs)
    by_cases = square * math.fsum(1 / _n_known(run) for run in runs) / n_runs
    return _drawn(LOG_SD**2, LOG_DF, _variance(effects) - by_cases, n_runs)


def variance_of_rates(
    passed: Sequence[Sequence[int]],
    scored: Sequence[Sequence[int]],
    sides: tuple[Sequence[int], Sequence[int]],
) -> NightVariance:
    """Return how much nights vary in a pass rate.

    s^2 = (4 * (0.15 w)^2 + f * e^2) / (4 + f): w is the mean variance of a trial within its case,
    by which a small step of all logits becomes one of the rate, and e^2 the variance of the runs
    around their mean less w / (m n), the part of the trials, not below 0. The value of a run is the
    mean over its cases of k/m less the rate of the case over all runs.

    Args:
        passed: past runs x cases, trials that passed.
        scored: past runs x cases, trials with a verdict; 0 where there is none.
        sides: passed and scored trials of the cases of both compared sides, which w comes from
            while there are fewer than three runs.

    Raises:
        ValueError: not one of both for each case of each run.
    """
    pairs = [
        list(zip(k, m, strict=True))
        for k, m in zip(_equally_long(passed), _equally_long(scored), strict=True)
    ]
    runs = [run for run in pairs if any(m for _, m in run)]
    n_runs = len(runs)
    if n_runs < MIN_KNOWN_RUNS:
        within = variance_within(*sides)
        return NightVariance((LOGIT_SD * within) ** 2, PRIOR_DF, n_runs)
    within = variance_within(
        [k for run in runs for k, _ in run], [m for run in runs for _, m in run]
    )
    usual = [
        sum(k for k, _ in case) / max(sum(m for _, m in case), 1)
        for case in zip(*runs, strict=True)
    ]
    values, parts = [], []
    for run in runs:
        known = [(k / m - q, 1 / m) for (k, m), q in zip(run, usual, strict=True) if m]
        values.append(math.fsum(value for value, _ in known) / len(known))
        parts.append(math.fsum(part for _, part in known) / len(known) ** 2)
    seen = _variance(values) - within * math.fsum(parts) / n_runs
    return _drawn((LOGIT_SD * within) ** 2, PRIOR_DF, seen, n_runs)


def variance_within(passed: Sequence[int], scored: Sequence[int]) -> float:
    """Return the mean variance of a trial within its case, from the counts of each case.

    k (m - k) / (m (m - 1)) over the cases with repetitions; where none has any, half of p (1 - p),
    as if the other half lay between cases.
    """
    cases = [(k, m) for k, m in zip(passed, scored, strict=True) if m]
    repeated = [k * (m - k) / (m * (m - 1)) for k, m in cases if m > 1]
    if repeated:
        return math.fsum(repeated) / len(repeated)
    if not cases:
        return 0.0
    p = math.fsum(k / m for k, m in cases) / len(cases)
    return p * (1 - p) / 2


def t_between_nights(
    differences: Sequence[float], nights: NightVariance, n_base: int, n_candidate: int
) -> paired_means.MeanDifference | None:
    """Return the mean difference of logarithms between nights, or None below five pairs.

    SE^2 = v/n + s^2 (1 / nights of the base + 1 / nights of the candidate), with v the variance of
    the differences over cases; Student's t with the degrees of freedom of s^2, and with no more
    than the cases have. The differences are candidate minus base, one a case; `n_base` and
    `n_candidate` are the nights that each side is the mean of.

    Raises:
        ValueError: a difference is not finite.
    """
    values = paired_means.finite(differences)
    n = len(values)
    if n < paired_means.MIN_PAIRS:
        return None
    error = math.sqrt(_variance(values) / n + nights.of_sides(n_base, n_candidate))
    return paired_means.mean_difference(_mean(values), error, min(nights.df, n - 1), n)


def rate_between_nights(
    found: RateInterval, nights: NightVariance, n_base: int, n_candidate: int
) -> NightDifference:
    """Return a difference of pass rates with what nights add to it.

    SE^2 = (side of the interval / z)^2 + V, with V = s^2 (1 / nights of the base + 1 / nights of
    the candidate) and the side that faces the tested value. Student's t with
    (SE_cases^2 + V)^2 df / V^2 degrees of freedom, rounded down (Satterthwaite 1946), the part of
    the cases being taken as known. `n_base` and `n_candidate` are the nights that each side is the
    mean of.
    """
    added = nights.of_sides(n_base, n_candidate)

    def error_of(side: float) -> tuple[float, int]:
        total = side**2 + added
        df = MAX_DF if added == 0 else min(int(total**2 * nights.df / added**2), MAX_DF)
        return math.sqrt(total), df

    def limit(side: float, probability: float) -> float:
        error, df = error_of(side)
        return paired_means.t_quantile(probability, df) * error

    difference = found.difference
    down, up = (difference - found.low) / Z95, (found.high - difference) / Z95
    down90, up90 = (difference - found.low90) / Z90, (found.high90 - difference) / Z90
    facing, facing_df = error_of(down if difference > 0 else up)
    return NightDifference(
        p=paired_means.two_sided_p(difference, facing, facing_df),
        low=max(difference - limit(down, 0.975), -1.0),
        high=min(difference + limit(up, 0.975), 1.0),
        low90=max(difference - limit(down90, 0.95), -1.0),
        high90=min(difference + limit(up90, 0.95), 1.0),
        df=facing_df,
    )


def _equally_long(table: Sequence[Sequence[Value]]) -> Sequence[Sequence[Value]]:
    if len({len(run) for run in table}) > 1:
        message = "every run has a place for every case"
        raise ValueError(message)
    return table


def _n_known(run: Sequence[float | None]) -> int:
    return len(run) - run.count(None)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _drawn(usual: float, df: int, seen: float, n_runs: int) -> NightVariance:
    """Return the variance seen, drawn towards the usual one."""
    seen = max(seen, 0.0)
    return NightVariance(shrunk_variance(usual, df, seen, n_runs), df + n_runs - 1, n_runs, seen)


def _additive(runs: Sequence[Sequence[float | None]]) -> tuple[list[float], float]:
    """Return the effect of each run in the least squares fit of case + run, and the mean square.

    That of what is left, by its degrees of freedom. Without holes one step is the solution.
    """
    columns = [column for column in zip(*runs, strict=True) if _n_known(column)]
    rows = list(zip(*columns, strict=True))
    has_holes = any(None in column for column in columns)
    effects = [0.0] * len(runs)
    levels = [0.0] * len(columns)
    for _ in range(STEPS if has_holes else 1):
        levels = [_mean(_less(column, effects)) for column in columns]
        newer = [_mean(_less(row, levels)) for row in rows]
        moved = max(abs(new - old) for new, old in zip(newer, effects, strict=True))
        effects = newer
        if moved <= 1e-9:
            break
    squares = [
        (value - effect) ** 2
        for row, effect in zip(rows, effects, strict=True)
        for value in _less(row, levels)
    ]
    df = len(squares) - len(columns) - len(runs) + 1
    return effects, math.fsum(squares) / df if df > 0 else 0.0


def _less(values: Sequence[float | None], others: Sequence[float]) -> list[float]:
    """Return what is left of the known values without their others."""
    return [value - other for value, other in zip(values, others, strict=True) if value is not None]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)

"""What nights add to a planned comparison of two runs that one server answered at two times.

A night shifts every case's rate by about as much on the logit scale, 0.15 where no history says how
much: the level moves by 0.15 times the variance within cases. The comparison of two nights is
decided by the standard error of its interval with this variance added, and Student's t with the
degrees of freedom of Satterthwaite 1946. The interval is MOVER's (Newcombe 1998), of which the
expected width is taken. Nights across a shift vary by the shift, so only those of the newest level
count: a level is what `analyze regressions` takes for one. Its scans need numpy, which takes longer
to load than a comparison does to answer, so they are asked only where a shift is possible at all.
Nothing else here loads it, since the collector plans with this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
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

MIN_KNOWN_RUNS = 3
"""Fewer tell nothing of how nights vary."""

MAX_CASES = 1_000_000
"""What so many do not show, no number of cases shows."""

MAX_DF = 100_000
"""Degrees of freedom beyond which limits are the normal ones to four digits."""

FEW_DF = 64
"""Below, each whole number of them has quantiles of its own; from here on each power of two."""

MIN_T = {6: 3.48, 7: 3.74}
"""Less than any alert needs between its two levels, over the scatter of nights or of trials: the
scan of a pass rate needs 3.50 with six nights, 3.77 with seven, and that of a time more."""

MIN_T_LONG = 3.85
"""The same from `MIN_LONG_NIGHTS` nights on: 3.88 and more."""

MIN_LONG_NIGHTS = 8
"""Nights from which the scatter of the nights counts in the scan of a pass rate too."""

MIN_RUNS = 3
"""Nights of the shortest level."""

SLACK = 0.9
"""Of the least step, and of the noise of trials: with holes the scans take means over slightly
other cases, and they take the noise from the nights so far."""

Logs = Sequence[Sequence[float | None]]
Counts = Sequence[Sequence[int]]


class Nights(NamedTuple):
    """How much the level of one model is known to vary from night to night."""

    seen: float = 0.0
    """Variance of the level over the runs, less what the trials explain; at least 0."""
    n_runs: int = 0
    """Runs behind it."""

    @property
    def is_assumed(self) -> bool:
        """Whether no history says a thing."""
        return self.n_runs < MIN_KNOWN_RUNS

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
    df = min((se**2 + night_variance) ** 2 * night_df / night_variance**2, MAX_DF)
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

    V is what the nights add to the variance of the difference, by the drop, with `night_df` degrees
    of freedom behind it.
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
        if many >= MAX_CASES:
            return None
        few, many = many, many * 2
    return fewest_between(few, many, is_enough)


def fewest_between(few: int, many: int, is_enough: Callable[[int], bool]) -> int:
    """Return the fewest that are enough, above `few`, which are not, up to `many`, which are."""
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if is_enough(middle) else (middle, many)
    return many


def level_of_rates(passed: Counts, scored: Counts, planned: Counts, margin: float) -> int:
    """Return the night with which the newest level of a pass rate begins.

    Args:
        passed: nights x cases, oldest first: trials that passed.
        scored: trials with a verdict.
        planned: 1 where the case was asked in the candidate's version, else 0.
        margin: least step of a shift.
    """
    rates = [
        [k / m if m else None for k, m in zip(*night, strict=True)]
        for night in zip(passed, scored, strict=True)
    ]
    if not may_have_shifted(night_values(rates), margin, _by_chance(passed, scored)):
        return 0
    from analyze.stats.changepoints.rates import scan_rate  # noqa: PLC0415 - loads numpy

    hashes = [[here - 1 for here in night] for night in planned]
    found = scan_rate(hashes, passed, scored, [1.0] * len(hashes), margin=margin)
    return found.segments[-1].first if found.segments else 0


def level_of_logs(logs: Logs, planned: Counts, ratio_margin: float) -> int:
    """Return the night with which the newest level of a time, a cost or a count begins.

    Args:
        logs: nights x cases, oldest first: mean logarithm of each; None where there is none.
        planned: 1 where the case was asked in the candidate's version, else 0.
        ratio_margin: 0.1 for the ratios 0.90 to 1.10, which are no shift.
    """
    step = min(math.log1p(ratio_margin), -math.log1p(-ratio_margin))
    if not may_have_shifted(night_values(logs), step):
        return 0
    from analyze.stats.changepoints.values import scan_values  # noqa: PLC0415 - loads numpy

    hashes = [[here - 1 for here in night] for night in planned]
    values = [[math.nan if value is None else value for value in night] for night in logs]
    counts = [[0 if value is None else 1 for value in night] for night in logs]
    found = scan_values(hashes, values, counts, [1.0] * len(hashes), ratio_margin=ratio_margin)
    return found.segments[-1].first if found.segments else 0


def _by_chance(passed: Counts, scored: Counts) -> float:
    """Return a standard deviation of a night that no scan goes below: that of its trials."""
    m = [count for night in scored for count in night]
    n_trials = sum(m)
    n_cases = sum(map(bool, m)) / len(m) * len(passed[0]) if m else 0
    if not n_trials or not n_cases:
        return 0.0
    nights = len(passed)
    within = math.fsum(
        sum(case) * (sum(of) - sum(case)) / max(sum(of) * (sum(of) - 1), 1)
        for case, of in zip(zip(*passed, strict=True), zip(*scored, strict=True), strict=True)
    )
    return math.sqrt(within * nights / (n_trials * n_cases))


def night_values(table: Logs) -> list[float]:
    """Return the value of each night that has one: its mean over cases, each less its own mean."""
    usual = []
    for column in zip(*table, strict=True):
        known = [value for value in column if value is not None]
        usual.append(math.fsum(known) / len(known) if known else 0.0)
    found = []
    for night in table:
        known = [value - q for value, q in zip(night, usual, strict=True) if value is not None]
        if known:
            found.append(math.fsum(known) / len(known))
    return found


def may_have_shifted(values: Sequence[float], step: float, chance: float = 0.0) -> bool:
    """Return whether a scan could see a shift in a series; it errs towards yes.

    A shift has three nights on either side whose means lie a step apart, and where the scatter
    counts, a Student's t that no scan in use takes for chance.

    Args:
        values: of the nights, oldest first.
        step: least difference of two levels.
        chance: standard deviation of a pass rate by its trials, which its scan never goes below,
            and by which alone it goes below eight nights; 0 for what has no such.
    """
    least = SLACK * step
    sums = [0.0, *accumulate(values)]
    n = len(values)
    means = [  # a longer stretch is made of such, and its mean lies between theirs
        (sums[end] - sums[end - length]) / length
        for length in range(MIN_RUNS, 2 * MIN_RUNS)
        for end in range(length, n + 1)
    ]
    if not means or max(means) - min(means) < least:
        return False
    squares = [0.0, *accumulate(value * value for value in values)]
    for length in range(2 * MIN_RUNS, n + 1):
        for k in range(MIN_RUNS, length - MIN_RUNS + 1):
            before, after = sums[k] / k, (sums[length] - sums[k]) / (length - k)
            if abs(after - before) < least:
                continue
            over = math.sqrt(1 / k + 1 / (length - k))
            needed = MIN_T.get(length, MIN_T_LONG)
            if abs(after - before) < SLACK * needed * chance * over:
                continue
            if chance and length < MIN_LONG_NIGHTS:
                return True
            left = squares[length] - k * before**2 - (length - k) * after**2
            error = math.sqrt(max(left, 0.0) / (length - 2)) * over
            if abs(after - before) >= needed * error:
                return True
    return False

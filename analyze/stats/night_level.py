"""Where the newest level of past nights begins: nights across a shift vary by the shift.

A level is what `analyze regressions` takes for one. Its scans need numpy, which takes longer to
load than a comparison does to answer, so they are asked only where a shift is possible at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

LEAST_T = {6: 3.48, 7: 3.74}
"""Less than any alert needs between its two levels, over the scatter of nights or of trials: the
scan of a pass rate needs 3.50 with six nights, 3.77 with seven, and that of a time more."""

LEAST_T_LONG = 3.85
"""The same from `LONG` nights on: 3.88 and more."""

LONG = 8
"""Nights from which the scatter of the nights counts in the scan of a pass rate too."""

MIN_RUNS = 3
"""Nights of the shortest level."""

SLACK = 0.9
"""Of the least step, and of the noise of trials: with holes the scans take means over slightly
other cases, and they take the noise from the nights so far."""

Logs = Sequence[Sequence[float | None]]
Counts = Sequence[Sequence[int]]


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
            needed = LEAST_T.get(length, LEAST_T_LONG)
            if abs(after - before) < SLACK * needed * chance * over:
                continue
            if chance and length < LONG:
                return True
            left = squares[length] - k * before**2 - (length - k) * after**2
            error = math.sqrt(max(left, 0.0) / (length - 2)) * over
            if abs(after - before) >= needed * error:
                return True
    return False

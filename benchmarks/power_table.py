"""Writes the table of small sizes: the drop that the sign-flip test finds four times in five.

    python benchmarks/power_table.py     writes analyze/stats/power/power_table.json (15 minutes)

Case rates of the two runs are beta-distributed with intra-case correlation rho, and correlated by
kappa through a normal copula (as far as two such distributions can be). Passes are binomial. Of
every drop 4,000 pairs of runs are drawn with one seed, so that neighbours differ by the drop alone,
and each gets the exact mid-p of the test that decides. One trial a case is not here: its power is
enumerated where it is asked for.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.stats import beta, binom, norm, qmc

from analyze.stats.power.exact import (
    ALPHA,
    DRAWS,
    KAPPAS,
    MIN_POWER,
    PASS_RATES,
    PER_PROBIT,
    POWER,
    REPETITIONS,
    RHOS,
    SIZES,
    TABLE,
    PairModel,
)

SEED = 20270115
Array = np.ndarray[Any, np.dtype[Any]]

POINTS = norm.ppf(qmc.Sobol(2, rng=np.random.default_rng(1)).random(2048))
FEW = POINTS[:512]
"""Enough to find the correlation of the copula."""


def case_rates(model: PairModel, drop: float) -> tuple[Array, Array]:
    """Return true case rates of two runs, evenly weighted points of their joint distribution."""
    p, rho, kappa = model
    worse = max(p - drop, 0.0)
    if rho == 0:
        return np.full(1, p), np.full(1, worse)
    size = 1 / rho - 1

    def quantile(mean: float, normal: Array) -> Array:
        if not 0 < mean < 1:
            return np.full_like(normal, mean)
        found: Array = beta.ppf(norm.cdf(normal), mean * size, (1 - mean) * size)
        return found

    def other(points: Array, r: float) -> Array:
        return quantile(worse, r * points[:, 0] + math.sqrt(1 - r * r) * points[:, 1])

    base = quantile(p, POINTS[:, 0])
    if worse == 0 or kappa == 0:
        return base, other(POINTS, 0.0)
    low, high = 0.0, 1.0
    if np.corrcoef(base[:512], other(FEW, 1.0))[0, 1] > kappa:
        for _ in range(11):
            middle = (low + high) / 2
            below = np.corrcoef(base[:512], other(FEW, middle))[0, 1] < kappa
            low, high = (middle, high) if below else (low, middle)
    return base, other(POINTS, high)


def joint_passes(m: int, model: PairModel, drop: float) -> Array:
    """Return P(k_a, k_b) of one case, (m + 1) x (m + 1)."""
    base, other = (np.clip(x, 1e-9, 1 - 1e-9) for x in case_rates(model, drop))
    k = np.arange(m + 1)
    found: Array = binom.pmf(k, m, base[:, None]).T @ binom.pmf(k, m, other[:, None])
    return found / found.sum()


def mid_ps(changed: Array, total: Array) -> Array:
    """Return the two-sided mid-p of the sign-flip test of many pairs of runs.

    Args:
        changed: cases of each pair whose passes differ by 1, 2, ... m trials: (draws, m).
        total: sum of the differences of each pair, in trials: (draws,).
    """
    patterns, inverse = np.unique(changed, axis=0, return_inverse=True)
    steps = np.arange(1, changed.shape[1] + 1)
    length = 1 << int(2 * (patterns @ steps).max(initial=0) + 1).bit_length()
    cosines = np.cos(np.outer(steps, 2 * np.pi * np.arange(length // 2 + 1) / length))
    beyond = []
    for some in np.array_split(patterns, len(patterns) // 2000 + 1):
        transform = np.ones((len(some), length // 2 + 1))
        for place, cosine in enumerate(cosines):
            powers = np.vander(cosine, int(some[:, place].max()) + 1, increasing=True).T
            transform *= powers[some[:, place]]
        chances = np.fft.irfft(transform, length, axis=1)[:, : length // 2 + 1]
        beyond.append(2 * np.cumsum(chances[:, ::-1], axis=1)[:, ::-1] - chances)
    found: Array = np.concatenate(beyond)[inverse.ravel(), np.abs(total)]
    return np.where(total == 0, 1.0, found)


def drawn_cells(n: int, joint: Array, draws: int, seed: int) -> Array:
    """Return how many of n cases have each pair of passes, (draws, (m + 1)^2)."""
    cells: Array = np.random.default_rng(seed).multinomial(n, joint.ravel(), size=draws)
    return cells


def shown_worse(cells: Array, m: int, alpha: float = ALPHA) -> Array:
    """Return in which pairs the test shows a drop."""
    place = np.arange((m + 1) ** 2)
    change = place % (m + 1) - place // (m + 1)
    total = cells @ change
    changed = np.stack([cells[:, np.abs(change) == j].sum(1) for j in range(1, m + 1)], axis=1)
    found: Array = (mid_ps(changed, total) <= alpha) & (total < 0)
    return found


def power_of(n: int, m: int, model: PairModel, drop: float, draws: int = DRAWS) -> float:
    """Return the share of pairs of runs in which a drop is shown."""
    cells = drawn_cells(n, joint_passes(m, model, drop), draws, SEED)
    return float(shown_worse(cells, m).mean())


def drop_at_power(top: float, start: float, power: Callable[[float], float]) -> float:
    """Return the drop with a power of 80 %; beyond `top`, about where it would be, above it."""
    normal = NormalDist()

    def short(drop: float) -> float:
        """Return by how much the probit falls short of the wanted one."""
        share = min(max(power(drop), MIN_POWER), 1 - MIN_POWER)
        return normal.inv_cdf(POWER) - normal.inv_cdf(share)

    most = short(top)
    if most > 0:
        return top * (1 + most / PER_PROBIT)
    low, high, drop = 0.0, top, min(start, top)
    for _ in range(10):
        lacks = short(drop)
        if abs(lacks) < 0.02:
            break
        low, high = (drop, high) if lacks > 0 else (low, drop)
        drop *= 1 + min(max(lacks / PER_PROBIT, -0.3), 0.3)
        if not low < drop < high:
            drop = (low + high) / 2
    return drop


def main() -> None:
    """Write the table, sizes outermost, and say how far it is."""
    began, values = time.perf_counter(), []
    start = 0.3
    for n, m, p, rho in itertools.product(SIZES, REPETITIONS, PASS_RATES, RHOS):
        for kappa in KAPPAS if rho else (0.0,):
            model = PairModel(p, rho, kappa)
            start = drop_at_power(p, start, lambda d: power_of(n, m, model, d))  # noqa: B023
            values.append(round(start, 4))
        if p == PASS_RATES[-1] and rho == RHOS[-1]:
            print(f"{n} x {m}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    text = json.dumps({"seed": SEED, "draws": DRAWS, "drops": values}, separators=(",", ":"))
    Path(TABLE).write_text(text.replace(",", ", ").replace("], ", "],\n") + "\n")


if __name__ == "__main__":
    main()

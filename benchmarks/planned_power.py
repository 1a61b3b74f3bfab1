"""Simulates what planning promises: how often a drop of the printed size is found.

    python benchmarks/planned_power.py             the tables of docs/statistics.md (2 minutes)

Runs are drawn in another way than those of the packaged table: with chance kappa a case keeps its
place among the cases in the second run, else it gets a new one; nights move all cases of a run on
the logit scale. Within a night a drop is found when the exact sign-flip mid-p says so, between
nights when the test with the interval's standard error and the assumed night says so as well.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from power_table import shown_worse
from scipy.stats import beta, norm, t

from analyze.stats.intervals import PRIOR_SHARE, PRIOR_WEIGHT
from analyze.stats.power.assumptions import Assumptions
from analyze.stats.power.exact import PairModel
from analyze.stats.power.nights import LOGIT_SD, PRIOR_DF
from analyze.stats.power.planning import Planner
from schemas.config.project import Thresholds

SEED = 20270116
DRAWS = 4_000
Z = float(norm.ppf(0.975))

Array = np.ndarray[Any, np.dtype[Any]]


def runs(
    n: int, m: int, model: PairModel, drop: float, *, draws: int, seed: Sequence[int],
    night: float = 0.0,
) -> tuple[Array, Array]:  # fmt: skip
    """Return passes of two runs, (draws, n) each; `night` is the sd of a run on the logit scale."""
    random, size = np.random.default_rng([SEED, *seed]), 1 / model.rho - 1

    def rates(mean: float, place: Array) -> Array:
        if mean <= 0:
            return np.zeros_like(place)
        grid = np.linspace(0, 1, 4001)
        found: Array = np.interp(place, grid, beta.ppf(grid, mean * size, (1 - mean) * size))
        return found

    def shifted(true: Array) -> Array:
        if not night:
            return true
        odds = np.exp(random.normal(0, night, (draws, 1)))
        found: Array = true * odds / (1 - true + true * odds)
        return found

    before = random.random((draws, n))
    grid = np.linspace(0.0005, 0.9995, 1000)
    most = np.corrcoef(rates(model.p, grid), rates(model.p - drop, grid))[0, 1]
    is_kept = random.random((draws, n)) < model.kappa / most
    after = np.where(is_kept, before, random.random((draws, n)))
    base = shifted(rates(model.p, before))
    candidate = shifted(rates(model.p - drop, after))
    return random.binomial(m, base), random.binomial(m, candidate)


def cells_of(base: Array, candidate: Array, m: int) -> Array:
    """Return how many cases of each pair of runs have each pair of passes."""
    draws, width = len(base), (m + 1) ** 2
    place = base * (m + 1) + candidate + width * np.arange(draws)[:, None]
    found: Array = np.bincount(place.ravel(), minlength=draws * width).reshape(draws, width)
    return found


def interval_of(base: Array, candidate: Array, m: int) -> tuple[Array, Array, Array]:
    """Return the difference, and how far its 95 % interval reaches below and above it."""
    n = base.shape[1]
    a, b = base / m, candidate / m
    p_a, p_b = a.mean(1), b.mean(1)
    v_a, v_b = a.var(1, ddof=1), b.var(1, ddof=1)
    both = np.sqrt(v_a * v_b)
    shared = ((a - p_a[:, None]) * (b - p_b[:, None])).sum(1) / (n - 1)
    r = np.divide(shared, both, out=np.zeros_like(both), where=both > 0) * (1 - 1 / n)

    def wilson(p: Array, v: Array) -> tuple[Array, Array]:
        binomial = p * (1 - p) / (n * m)
        shown = np.divide(v / n, binomial, out=np.ones_like(v), where=binomial > 0).clip(1, m)
        weight = n * np.minimum(p, 1 - p)
        prior = PRIOR_WEIGHT * (1 + PRIOR_SHARE * (m - 1))
        n_eff = n * m * (PRIOR_WEIGHT + weight) / (prior + weight * shown)
        half = Z * np.sqrt(p * (1 - p) / n_eff + Z**2 / (4 * n_eff**2))
        centre, scale = p + Z**2 / (2 * n_eff), 1 + Z**2 / n_eff
        return (centre - half) / scale, (centre + half) / scale

    (low_a, high_a), (low_b, high_b) = wilson(p_a, v_a), wilson(p_b, v_b)

    def joined(one: Array, other: Array) -> Array:
        found: Array = np.sqrt(np.maximum(one**2 + other**2 - 2 * r * one * other, 0))
        return found

    return p_b - p_a, joined(p_b - low_b, high_a - p_a), joined(high_b - p_b, p_a - low_a)


def found_between_nights(base: Array, candidate: Array, m: int) -> Array:
    """Return in which pairs the night test shows a drop, with nights assumed."""
    difference, _, above = interval_of(base, candidate, m)
    if m > 1:
        within = sum((k * (m - k)).mean(1) / (m * (m - 1)) for k in (base, candidate)) / 2
    else:
        within = sum(k.mean(1) * (1 - k.mean(1)) for k in (base, candidate)) / 4
    variance = 2 * (LOGIT_SD * within) ** 2
    total = (above / Z) ** 2 + variance
    df = np.floor(total**2 * PRIOR_DF / np.maximum(variance, 1e-12) ** 2).clip(1, 1e6)
    found: Array = (difference < 0) & (2 * t.sf(-difference / np.sqrt(total), df) <= 0.05)
    return found


def powers(
    n: int, m: int, given: Assumptions, true: PairModel | None = None, draws: int = DRAWS
) -> tuple[float | None, float, float | None, float]:
    """Return the drop that is printed for one night and its power, and the same for two nights."""
    planner = Planner(Thresholds(), given)
    true = true or PairModel(given.pass_rate, given.rho, given.kappa)
    same = planner.smallest(n, m, same_night=True)
    nights = planner.smallest(n, m)
    of_same = of_nights = float("nan")
    if same is not None:
        found = runs(n, m, true, same, draws=draws, seed=(n, m))
        of_same = float(shown_worse(cells_of(*found, m), m).mean())
    if nights is not None:
        found = runs(n, m, true, nights, draws=draws, seed=(n, m, 1), night=LOGIT_SD)
        is_shown = shown_worse(cells_of(*found, m), m) & found_between_nights(*found, m)
        of_nights = float(is_shown.mean())
    return same, of_same, nights, of_nights


def table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> None:
    """Print a table of Markdown, row by row."""
    print("| " + " | ".join(head) + " |")
    print("| --- " + "| ---: " * (len(head) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def percent(share: float | None) -> str:
    """Return a share in percent, a dash where there is none."""
    return "–" if share is None or share != share else f"{100 * share:.1f}"  # noqa: PLR0124


SIZES = (6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 49, 50, 100, 300)
USUAL = Assumptions()
HEAD = ("one night: points", "power %", "two nights: points", "power %")


def as_assumed() -> None:
    """Print the power at every size, what is assumed being true."""

    def rows() -> Iterator[Sequence[str]]:
        for m in (1, 3, 5):
            for n in SIZES:
                yield f"{n}x{m}", *map(percent, powers(n, m, USUAL))

    table(("cases x repetitions", *HEAD), rows())


def with_history() -> None:
    """Print the power where runs told other values, and they are true."""

    def rows() -> Iterator[Sequence[str]]:
        for p, rho, kappa in ((0.9, 0.3, 0.9), (0.6, 0.7, 0.7), (0.95, 0.6, 0.8), (0.4, 0.5, 0.9)):
            given = replace(
                USUAL, pass_rate=p, rho=rho, kappa=kappa, share_within=1 - rho, pass_rate_seen=p
            )
            for n, m in ((8, 5), (15, 2), (30, 3), (40, 1), (100, 3), (60, 10)):
                name = f"{n}x{m}, rate {p:g}, rho {rho:g}, kappa {kappa:g}"
                yield name, *map(percent, powers(n, m, given))

    table(("cases x repetitions", *HEAD), rows())


def not_as_assumed() -> None:
    """Print the power at the sizes of the assumptions, where rho and kappa are others."""

    def rows() -> Iterator[Sequence[str]]:
        for rho, kappa in ((0.3, 0.9), (0.7, 0.9), (0.5, 0.7), (0.5, 1.0), (0.8, 0.6)):
            for n, m in ((10, 3), (30, 1), (30, 3), (100, 1), (100, 3)):
                true = PairModel(0.8, rho, kappa)
                yield (
                    f"{n}x{m}, rho {rho:g}, kappa {kappa:g}",
                    *map(percent, powers(n, m, USUAL, true)),
                )

    table(("cases x repetitions", *HEAD), rows())


if __name__ == "__main__":
    print(f"seed {SEED}, {DRAWS:,} pairs of runs each\n")
    for part in (as_assumed, with_history, not_as_assumed):
        if not sys.argv[1:] or part.__name__ in sys.argv[1:]:
            part()

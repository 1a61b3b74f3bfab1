"""Tests between nights that share their noise: false alarms, power, proofs, gated nights.

    python benchmarks/nights_apart.py [--draws N]

Draws nights whose cases move together, calls what `analyze compare` and `analyze gate` call, and
prints the tables of docs/statistics.md. Times are lognormal with a spread of their own per case;
pass rates are logit-normal over cases. Neither is the form that the formulas assume.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtri

from analyze.stats.night_noise import (
    MAX_RUNS,
    NightVariance,
    rate_between_nights,
    t_between_nights,
    variance_of_logs,
    variance_of_rates,
)
from analyze.stats.paired_rates import rate_difference, rate_test
from analyze.stats.power.nights import MIN_KNOWN_RUNS

Array = np.ndarray[Any, Any]

SEED = 20261122
ALPHA = 0.05
GATED = 60
"""Nights of a series that is gated every night."""

LOGIT_AT_80 = 1.9163
"""Middle of logits with a standard deviation of 1.5 whose rates have the mean 0.8."""


def shared(random: np.random.Generator, n_nights: int, sd: float, ar: float = 0.0) -> Array:
    """Return what moves all cases of each night, autocorrelated if asked for."""
    steps = random.normal(0, sd, n_nights)
    for night in range(1, n_nights):
        steps[night] = ar * steps[night - 1] + math.sqrt(1 - ar * ar) * steps[night]
    return steps


def times(random: np.random.Generator, moves: Array, n_cases: int = 30, m: int = 3) -> Array:
    """Return mean logarithms, nights x cases."""
    level = random.normal(6.5, 0.6, n_cases)
    spread = random.uniform(0.1, 0.5, n_cases) / math.sqrt(m)
    night = random.normal(0, 0.05, (len(moves), n_cases))
    return level + moves[:, None] + night + random.normal(0, 1, night.shape) * spread


def of_ranks(ranks: Array, drop: float) -> Array:
    """Return beta-distributed case rates, ICC 0.5; after a drop each case keeps its rank."""
    return betaincinv(0.8 - drop, 0.2 + drop, ranks)


def multiplied(ranks: Array, drop: float) -> Array:
    """Return logit-normal case rates, sd 1.5; a drop takes the same share of every rate."""
    return (1 - drop / 0.8) / (1 + np.exp(-(LOGIT_AT_80 + 1.5 * ndtri(ranks))))


def passes(
    random: np.random.Generator,
    moves: Array,
    n_cases: int,
    m: int,
    drops: Array | None = None,
    *,
    spread: Callable[[Array, float], Array] = of_ranks,
) -> Array:
    """Return passed trials, nights x cases, of case rates with mean 0.8 less the night's drop.

    A night moves all logits together.
    """
    ranks = random.random(n_cases)
    fallen = np.zeros(len(moves)) if drops is None else drops
    levels, of_night = np.unique(fallen, return_inverse=True)
    rates = np.stack([spread(ranks, drop) for drop in levels])[of_night]
    rates = rates.clip(1e-12, 1 - 1e-12)
    logits = np.log(rates / (1 - rates)) + moves[:, None]
    return random.binomial(m, 1 / (1 + np.exp(-logits)))


def time_p(logs: Array, candidate: int, bases: Sequence[int]) -> Iterator[tuple[float, float]]:
    """Yield difference and p of one night against the last k before it, for each k of `bases`."""
    nights = variance_of_logs(logs[max(candidate - MAX_RUNS, 0) : candidate].tolist())
    for k in bases:
        d = (logs[candidate] - logs[candidate - k : candidate].mean(axis=0)).tolist()
        found = t_between_nights(d, nights, k, 1)
        assert found is not None
        yield found.mean, found.p


def rate_p(
    passed: Array, m: int, candidate: int, bases: Sequence[int]
) -> Iterator[tuple[float, float, float]]:
    """Yield difference, the larger of both p and the lower 90 % limit, for each k of `bases`.

    The sides tell how much nights vary only where fewer than three of them came before.
    """
    one = [m] * passed.shape[1]
    now = passed[candidate].tolist()
    history = passed[max(candidate - MAX_RUNS, 0) : candidate].tolist()
    nights: NightVariance | None = None
    for k in bases:
        before = passed[candidate - k : candidate].sum(axis=0).tolist()
        many = [m * k] * len(now)
        found = rate_difference(before, many, now, one)
        assert found is not None
        if nights is None or len(history) < MIN_KNOWN_RUNS:
            nights = variance_of_rates(history, [one] * len(history), (before + now, many + one))
        apart = rate_between_nights(found, nights, k, 1)
        p = max(rate_test(before, many, now, one).p, apart.p)
        yield found.difference, p, min(found.low90, apart.low90)


def time_rows(draws: int) -> Iterator[str]:
    """Yield false alarms and power of times."""
    random = np.random.default_rng(SEED)
    for n_cases, m in ((5, 1), (10, 3), (30, 3), (100, 1)):
        for sd, ar in ((0.0, 0.0), (0.08, 0.0), (0.15, 0.0), (0.15, 0.5)):
            cells = []
            for n_before, k in ((1, 1), (7, 1), (20, 1), (7, 7), (20, 7)):
                shown = dict.fromkeys((1.0, 1.5, 2.0), 0)
                for growth in shown:
                    for _ in range(draws):
                        moves = shared(random, n_before + 1, sd, ar)
                        moves[-1] += math.log(growth)
                        logs = times(random, moves, n_cases, m)
                        [(_, p)] = time_p(logs, n_before, [k])
                        shown[growth] += p <= ALPHA
                cells.append(" / ".join(f"{100 * n / draws:.1f}" for n in shown.values()))
            yield f"| {n_cases}x{m} | {sd:g}{', AR 0.5' if ar else ''} | {' | '.join(cells)} |"


def rate_rows(draws: int) -> Iterator[str]:
    """Yield false failures, false improvements, and drops of ten points found."""
    random = np.random.default_rng(SEED)
    for n_cases, m in ((30, 3), (100, 1), (100, 3), (300, 3), (1000, 1)):
        for sd in (0.0, 0.2):
            cells = []
            for n_before, k in ((1, 1), (3, 1), (7, 1), (20, 1), (7, 7), (20, 7)):
                n_draws = draws if n_cases * n_before <= 1000 else draws // 4
                down = up = hit = 0
                for drop in (0.0, 0.1):
                    drops = np.zeros(n_before + 1)
                    drops[-1] = drop
                    for _ in range(n_draws):
                        moves = shared(random, n_before + 1, sd)
                        passed = passes(random, moves, n_cases, m, drops)
                        [(d, p, _)] = rate_p(passed, m, n_before, [k])
                        hit += drop > 0 and p <= ALPHA and d < 0
                        down += drop == 0 and p <= ALPHA and d < 0
                        up += drop == 0 and p <= ALPHA and d > 0
                cells.append(" / ".join(f"{100 * n / n_draws:.1f}" for n in (down, up, hit)))
            yield f"| {n_cases}x{m} | {sd:g} | {' | '.join(cells)} |"


def drop_rows(draws: int) -> Iterator[str]:
    """Yield how often a drop of ten points is found, in cases of two kinds."""
    random = np.random.default_rng(SEED)
    for name, spread in (("rank of each case kept", of_ranks), ("rates multiplied", multiplied)):
        for sd in (0.0, 0.2):
            cells = []
            for n_before, k in ((1, 1), (7, 7)):
                drops = np.append(np.zeros(n_before), 0.1)
                found = 0
                for _ in range(draws):
                    moves = shared(random, n_before + 1, sd)
                    passed = passes(random, moves, 30, 3, drops, spread=spread)
                    [(d, p, _)] = rate_p(passed, 3, n_before, [k])
                    found += p <= ALPHA and d < 0
                cells.append(f"{100 * found / draws:.1f}")
            yield f"| {name} | {sd:g} | {' | '.join(cells)} |"


def proof_rows(draws: int) -> Iterator[str]:
    """Yield how often a gate with --prove lets a true drop of what it rules out pass."""
    random = np.random.default_rng(SEED)
    for n_cases, m in ((100, 3), (300, 1), (300, 3), (1000, 1)):
        for drop in (0.05, 0.1):
            cells = []
            for n_before, k in ((1, 1), (7, 1), (7, 7), (8, 1), (8, 7), (20, 1), (20, 7)):
                drops = np.zeros(n_before + 1)
                drops[-1] = drop

                n_passed = 0
                for _ in range(draws):
                    moves = shared(random, n_before + 1, 0.2)
                    passed = passes(random, moves, n_cases, m, drops)
                    [(d, p, low90)] = rate_p(passed, m, n_before, [k])
                    n_passed += low90 > -drop and not (p <= ALPHA and -d > drop)
                cells.append(f"{100 * n_passed / draws:.1f}")
            yield f"| {n_cases}x{m} | {100 * drop:.0f} | {' | '.join(cells)} |"


def gate_rows(n_series: int) -> Iterator[str]:
    """Yield how often unchanged nights fail a gate: early nights, then late ones, each baseline."""
    random = np.random.default_rng(SEED)
    for what, sd in (
        ("times", 0.0),
        ("times", 0.08),
        ("times", 0.15),
        ("rates", 0.0),
        ("rates", 0.2),
    ):
        for n_cases, m in ((30, 3), (100, 3), (1000, 1)):
            fails = np.zeros((2, 2))
            asked = np.zeros((2, 2))
            for _ in range(n_series):
                moves = shared(random, GATED, sd)
                nights = (
                    times(random, moves, n_cases, m)
                    if what == "times"
                    else passes(random, moves, n_cases, m)
                )
                for night in (*range(1, 7), *range(7, GATED, 1 if n_cases < 1000 else 6)):
                    bases = 1, min(night, 7)
                    if what == "times":
                        worse = [p <= ALPHA and d > 0 for d, p in time_p(nights, night, bases)]
                    else:
                        found = rate_p(nights, m, night, bases)
                        worse = [p <= ALPHA and d < 0 for d, p, _ in found]
                    is_late = int(night >= 7)
                    fails[:, is_late] += worse
                    asked[:, is_late] += 1
            cells = [f"{100 * share:.1f}" for share in (fails / asked).ravel()]
            yield f"| {what} | {n_cases}x{m} | {sd:g} | {' | '.join(cells)} |"


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--only", choices=("times", "rates", "drops", "proof", "gates"))
    options = parser.parse_args()
    tables: dict[str, tuple[str, Iterator[str]]] = {
        "times": (
            "| cases | night sd | 1 before | 7 | 20 | 7, all base | 20, 7 base |",
            time_rows(options.draws),
        ),
        "rates": (
            "| cases | logit sd | 1 before | 3 | 7 | 20 | 7, all base | 20, 7 base |",
            rate_rows(options.draws),
        ),
        "drops": ("| -10 at 30x3 | logit sd | 1 before | 7 |", drop_rows(options.draws)),
        "proof": (
            "| cases | drop | 1 before | 7 | 7, all base | 8 | 8, 7 base | 20 | 20, 7 base |",
            proof_rows(options.draws // 2),
        ),
        "gates": (
            "| of | cases | sd | previous, 2-7 | previous, 8-60 | history, 2-7 | history, 8-60 |",
            gate_rows(max(options.draws // 50, 2)),
        ),
    }
    for name, (head, rows) in tables.items():
        if options.only in (None, name):
            print(f"## {name}\n\n{head}")
            for row in rows:
                print(row, flush=True)
            print()


if __name__ == "__main__":
    main()

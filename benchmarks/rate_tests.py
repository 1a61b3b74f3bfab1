"""Simulates two tests of pass rates: unequal repetitions, and the best of ten equal models.

    python benchmarks/rate_tests.py            as docs/statistics.md prints it
    python benchmarks/rate_tests.py --quick    a tenth of the draws

Nothing differs in any draw, so whatever is shown is wrong. The logits of the cases are normal, and
on each side every case is moved by a normal number of its own: an interaction of case and side that
leaves the mean rate as it is.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from analyze.stats.paired_rates import rate_test
from analyze.stats.rates import RankedModel, may_be_best

Array = np.ndarray[Any, Any]

SEED = 20261122
ALPHA = 0.05
SPREAD = 1.5
"""Standard deviation of the logits of the cases."""

LEAST_T = 1.0
"""A mean difference of less than so many standard errors is shown by no test, and is not asked."""

RATES = (0.5, 0.8, 0.95, 0.98)
INTERACTIONS = (0.0, 1.5)
SIDES = ((1, 5), (1, 10), (3, 7), (7, 1), (21, 3))
CASES = (20, 50, 100)


class Wrong(NamedTuple):
    """Shares of the draws in which a change was shown."""

    down: float
    up: float


@lru_cache(maxsize=64)
def centre(rate: float, deviation: float) -> float:
    """Return the mean of normal logits whose mean rate is this, by quadrature and bisection."""
    points, weights = np.polynomial.hermite_e.hermegauss(80)
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        mean = (weights / (1 + np.exp(-(middle + deviation * points)))).sum() / weights.sum()
        low, high = (middle, high) if mean < rate else (low, middle)
    return low


def rates_of_sides(
    rate: float,
    interaction: float,
    shape: tuple[int, ...],
    n_sides: int,
    random: np.random.Generator,
) -> list[Array]:
    """Return the rates of the cases on each side; the mean over all cases there are is `rate`.

    Args:
        rate: that mean.
        interaction: standard deviation of a case's logit between two sides.
        shape: draws and cases.
        n_sides: runs, or models.
        random: where chance comes from.
    """
    own = interaction / math.sqrt(2)
    logits = centre(rate, math.hypot(SPREAD, own)) + SPREAD * random.standard_normal(shape)
    return [
        1 / (1 + np.exp(-(logits + own * random.standard_normal(shape)))) for _ in range(n_sides)
    ]


def wrong_at_unequal(
    n_cases: int,
    m_a: int,
    m_b: int,
    rate: float,
    interaction: float,
    *,
    draws: int,
    seed: int = SEED,
) -> Wrong:
    """Return how often two sides that are the same are told apart, asked so often each."""
    place = [seed, n_cases, m_a, m_b, round(100 * rate), round(10 * interaction)]
    random = np.random.default_rng(place)
    of_a, of_b = rates_of_sides(rate, interaction, (draws, n_cases), 2, random)
    k_a, k_b = random.binomial(m_a, of_a), random.binomial(m_b, of_b)
    d = k_b / m_b - k_a / m_a
    mean, error = d.mean(axis=1), d.std(axis=1, ddof=1) / math.sqrt(n_cases)
    trials_a, trials_b = [m_a] * n_cases, [m_b] * n_cases
    shown = [
        mean[draw] > 0
        for draw in np.flatnonzero(abs(mean) >= LEAST_T * error)
        if rate_test(k_a[draw].tolist(), trials_a, k_b[draw].tolist(), trials_b).p <= ALPHA
    ]
    return Wrong((len(shown) - sum(shown)) / draws, sum(shown) / draws)


def left_out(
    n_cases: int, m: int, rate: float, interaction: float, *, draws: int, n_models: int = 10
) -> float:
    """Return how often one of equal models is not among those that may be the best."""
    random = np.random.default_rng([SEED, n_cases, m, round(100 * rate), round(10 * interaction)])
    sides = rates_of_sides(rate, interaction, (draws, n_cases), n_models, random)
    passed = np.stack([random.binomial(m, side) for side in sides], axis=1)
    lonely = 0
    for draw in passed.tolist():
        models = [
            RankedModel(sum(counts), {case: (k, m) for case, k in enumerate(counts)})
            for counts in draw
        ]
        lonely += not all(may_be_best(models, ALPHA))
    return lonely / draws


def unequal_rows(draws: int) -> Iterator[Sequence[object]]:
    """Yield the table of unequal repetitions, row by row."""
    for m_a, m_b in SIDES:
        for n_cases in CASES:
            found = [
                wrong_at_unequal(n_cases, m_a, m_b, rate, interaction, draws=draws)
                for rate in RATES
                for interaction in INTERACTIONS
            ]
            yield (
                f"{m_a} → {m_b}", n_cases,
                *(percent(float(np.mean(side))) for side in zip(*found, strict=True)),
                *(percent(max(side)) for side in zip(*found, strict=True)),
            )  # fmt: skip


def best_rows(draws: int) -> Iterator[Sequence[object]]:
    """Yield the table of ten equal models, row by row."""
    for n_cases, m in ((20, 1), (30, 1), (30, 3), (100, 1), (100, 3)):
        found = [
            left_out(n_cases, m, rate, interaction, draws=draws)
            for rate in (0.5, 0.8, 0.95)
            for interaction in (0.0, 1.0)
        ]
        yield f"{n_cases}x{m}", percent(float(np.mean(found))), percent(max(found))


def percent(share: float) -> str:
    """Return a share in percent, to one digit."""
    return f"{100 * share:.1f}"


def table(head: Sequence[str], rows: Iterator[Sequence[object]]) -> None:
    """Print a table of Markdown, row by row."""
    print("| " + " | ".join(head) + " |")
    print("| --- " + "| ---: " * (len(head) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
    print()


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the draws")
    draws = 200 if parser.parse_args().quick else 2_000
    print(f"seed {SEED}; {draws:,} draws of each scenario\n\n## unequal repetitions\n")
    table(
        ("trials a case", "cases", "worse %", "better %", "worse, worst %", "better, worst %"),
        unequal_rows(draws),
    )
    print("## ten equal models\n")
    table(("cases x repetitions", "one left out %", "worst %"), best_rows(draws // 2))


if __name__ == "__main__":
    main()

"""How often the wrong model is recommended, on drawn runs whose truth is known.

    python benchmarks/routing.py [--draws N]

Cases have rates of a beta distribution; both models have the same rate of a case, up to the
difference that a row says. `former` is the order by the lower limit of each model's own interval,
over whatever it was asked.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np

from analyze.routing.order import Candidate, Draws, PairedRule, order_of
from analyze.stats.intervals import wilson_shrunk

SEED = 20261122
MEAN, ICC = 0.7, 0.5
RULES = {"no quality asked": PairedRule(margin=0.05), "quality asked": PairedRule()}
SIZES = ((10, 1), (30, 1), (30, 3), (100, 1), (100, 3))


def rates_of(generator: np.random.Generator, n_cases: int) -> np.ndarray:
    """Return the rate of each case, the easiest first."""
    spread = 1 / ICC - 1
    return np.sort(generator.beta(MEAN * spread, (1 - MEAN) * spread, n_cases))[::-1]


def candidate(
    generator: np.random.Generator, name: str, rates: np.ndarray, reps: int, cost: float
) -> Candidate:
    """Return a model with drawn passes of the cases that it was asked."""
    passes = generator.binomial(reps, np.clip(rates, 0, 1)).tolist()
    names = [("s", f"c{n}", None) for n in range(len(passes))]
    cases = {case: Draws(k, reps, case) for case, k in zip(names, passes, strict=True)}
    return Candidate((name,), cases, cost, None, sum(passes) / reps / len(passes))


def first_by_limit(candidates: list[Candidate]) -> int:
    """Return the number of the model with the highest lower limit, of equals the cheapest."""

    def key(place: int) -> tuple[float, float]:
        draws = candidates[place].cases.values()
        found = wilson_shrunk([one.hits for one in draws], [one.trials for one in draws])
        return (-found.low if found else 0.0, candidates[place].cost_usd or 0.0)

    return min(range(len(candidates)), key=key)


def pairs(
    generator: np.random.Generator, size: tuple[int, int], asked: float, change: float, draws: int
) -> Iterator[list[Candidate]]:
    """Yield a model that was asked everything, and a cheaper one that is to be watched."""
    n_cases, reps = size
    for _ in range(draws):
        rates = rates_of(generator, n_cases)
        easy = rates[: round(asked * n_cases)] + change
        yield [
            candidate(generator, "whole", rates, reps, 0.002),
            candidate(generator, "watched", easy, reps, 0.001),
        ]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=1_000, help="of each row")
    draws = parser.parse_args().draws
    generator = np.random.default_rng(SEED)
    print(f"| the cheaper model | cases x repetitions | former % | {' % | '.join(RULES)} % |")
    print(f"| --- | --- | {'---: | ' * (1 + len(RULES))}")
    for what, asked, change in (
        ("is as good, asked the easy half", 0.5, 0.0),
        ("is 10 points worse, asked the easy half", 0.5, -0.1),
        ("is 10 points worse, asked all", 1.0, -0.1),
        ("is 20 points worse, asked all", 1.0, -0.2),
        ("is as good, asked all", 1.0, 0.0),
    ):
        for size in SIZES:
            drawn = list(pairs(generator, size, asked, change, draws))
            former = sum(first_by_limit(both) == 1 for both in drawn)
            now = [
                sum(order_of(both, rule).places[0] == 1 for both in drawn)
                for rule in RULES.values()
            ]
            cells = " | ".join(f"{100 * n / draws:.1f}" for n in (former, *now))
            print(f"| {what} | {size[0]}x{size[1]} | {cells} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())

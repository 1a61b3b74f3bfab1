"""Draws of runs whose truth is known: what the simulations put into the formulas.

Cases are a sample of the work that a suite stands for: each has a pass rate of its own, drawn from
a beta distribution with mean `rate` and intra-class correlation `icc`, the share of a trial's
variance that lies between cases. Everything is an array, draws first, and comes from the generator
that is handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv, expit, stdtrit

Array = np.ndarray[Any, Any]

RATES = (0.5, 0.8, 0.95)
ICCS = (0.0, 0.3, 0.7)
CASES = (10, 20, 30, 100)
REPETITIONS = (1, 3, 5)

INTERACTION = 0.3
"""Share of the cases whose rates in two runs have nothing to do with each other."""

SPIKE = 10
"""How many times as long a night with a spike takes."""

STEPS = 4096
"""Of the table from which rates of cases are drawn; its own mean is taken as the truth."""


@dataclass(frozen=True)
class Spread:
    """How the pass rates of cases are spread."""

    rate: float
    icc: float

    def quantiles(self) -> Array:
        """Return the rates of cases in the middle of `STEPS` parts that are equally likely."""
        return _quantiles(self.rate, self.icc)

    def true_rate(self) -> float:
        """Return the mean of the rates that are drawn."""
        return float(self.quantiles().mean())


@lru_cache(maxsize=256)
def _quantiles(rate: float, icc: float) -> Array:
    """Return them once: a series each would spend more time on them than on its scan."""
    if icc == 0:
        return np.full(STEPS, rate)
    size = 1 / icc - 1
    middles = (np.arange(STEPS) + 0.5) / STEPS
    found: Array = betaincinv(rate * size, (1 - rate) * size, middles)
    return found


SPREADS = tuple(Spread(rate, icc) for rate in RATES for icc in ICCS)


@dataclass(frozen=True)
class Size:
    """How much a run asks."""

    cases: int
    repetitions: int

    def __str__(self) -> str:
        return f"{self.cases}x{self.repetitions}"


SIZES = tuple(Size(cases, repetitions) for repetitions in REPETITIONS for cases in CASES)


def one_run(
    spread: Spread, size: Size, draws: int, random: np.random.Generator
) -> tuple[Array, Array]:
    """Return passes and trials [draws, cases] of single runs."""
    rates = spread.quantiles()[random.integers(STEPS, size=(draws, size.cases))]
    return _asked(rates, size.repetitions, random)


@dataclass(frozen=True)
class HardRates:
    """Case rates that no formula was made for, beside the beta-distributed ones."""

    kind: Literal["beta", "logit t3", "two points", "half in one case", "families of five"]
    rate: float
    icc: float = 0.3

    def __str__(self) -> str:
        return f"{self.kind}{f' {self.icc:g}' if self.kind == 'beta' else ''}, rate {self.rate:g}"

    def quantiles(self) -> Array:
        """Return the rates of cases in the middle of `STEPS` parts that are equally likely."""
        middles = (np.arange(STEPS) + 0.5) / STEPS
        if self.kind == "two points":
            return np.where(middles < (self.rate - 0.2) / (0.98 - 0.2), 0.98, 0.2)
        if self.kind == "logit t3":  # a t with 3 degrees of freedom has a variance of 3
            return _logit_spread(self.rate, 1.5 / 3**0.5)
        return _quantiles(self.rate, self.icc)

    def true_rate(self) -> float:
        """Return the mean of the rates that are drawn."""
        return float(self.quantiles().mean())


@lru_cache(maxsize=8)
def _logit_spread(rate: float, scale: float) -> Array:
    spread = scale * stdtrit(3, (np.arange(STEPS) + 0.5) / STEPS)
    middle = brentq(lambda logit: expit(logit + spread).mean() - rate, -20, 20)
    found: Array = expit(middle + spread)
    return found


HARD_RATES = tuple(
    one
    for rate in RATES
    for one in (
        *(HardRates("beta", rate, icc) for icc in ICCS),
        HardRates("logit t3", rate),
        HardRates("two points", rate),
        HardRates("half in one case", rate),
        HardRates("families of five", rate),
    )
)


def hard_run(
    hard: HardRates, size: Size, draws: int, random: np.random.Generator
) -> tuple[Array, Array]:
    """Return passes and trials [draws, units] of single runs.

    Units are cases; families of five cases, whose rates are spread around the family's with the
    ICC of the families, are one unit with the sums of its cases.
    """
    rates = hard.quantiles()[random.integers(STEPS, size=(draws, size.cases))]
    if hard.kind == "families of five":
        around = 1 / hard.icc - 1
        of_family = np.clip(rates, 1e-9, 1 - 1e-9)[..., None] * np.ones(5)
        rates = random.beta(of_family * around, (1 - of_family) * around)
        passed, trials = _asked(rates, size.repetitions, random)
        return passed.sum(axis=2), trials.sum(axis=2)
    trials = np.full(rates.shape, size.repetitions)
    if hard.kind == "half in one case":
        trials[:, 0] = (size.cases - 1) * size.repetitions
    return random.binomial(trials, rates), trials


COSTS: dict[str, tuple[float, Callable[[np.random.Generator, tuple[int, int]], Array]]] = {
    "normal, sd 20 %": (1.0, lambda random, shape: random.normal(1, 0.2, shape).clip(0)),
    "exponential": (1.0, lambda random, shape: random.exponential(1, shape)),
    "lognormal, sd 0.5": (1.0, lambda random, shape: random.lognormal(-0.125, 0.5, shape)),
    "lognormal, sd 1": (1.0, lambda random, shape: random.lognormal(-0.5, 1, shape)),
    "lognormal, sd 1.5": (1.0, lambda random, shape: random.lognormal(-1.125, 1.5, shape)),
    "one in five ten times dearer": (
        2.8,
        lambda random, shape: (
            np.where(random.random(shape) < 0.2, 10, 1) * random.lognormal(-0.045, 0.3, shape)
        ),
    ),
    "one in ten free, lognormal, sd 1": (
        0.9,
        lambda random, shape: (random.random(shape) >= 0.1) * random.lognormal(-0.5, 1, shape),
    ),
}
"""Mean costs of cases: the true mean, and draws of them."""


@dataclass(frozen=True)
class Pair:
    """Two runs of the same cases: the candidate's cases are spread around another rate."""

    spread: Spread
    change: float = 0.0
    redrawn: float = 0.0
    """Share of the cases whose rate in the candidate is drawn anew: an interaction of case and
    model. The others keep their place: the hardest case stays the hardest."""

    @property
    def candidate(self) -> Spread:
        """Return how the candidate's cases are spread."""
        return Spread(self.spread.rate + self.change, self.spread.icc)

    def true_difference(self) -> float:
        """Return the difference of the mean rates, candidate minus base."""
        return self.candidate.true_rate() - self.spread.true_rate()


def pairs(change: float, *, redrawn: bool = True) -> tuple[Pair, ...]:
    """Return a pair for each spread, and one with interaction where cases differ at all."""
    plain = [Pair(spread, change) for spread in SPREADS]
    mixed = [Pair(spread, change, INTERACTION) for spread in SPREADS if spread.icc and redrawn]
    return (*plain, *mixed)


def paired_rates(
    pair: Pair, cases: int, draws: int, random: np.random.Generator
) -> tuple[Array, Array]:
    """Return the true rates [draws, cases] of both sides."""
    place = random.integers(STEPS, size=(draws, cases))
    anew = random.random((draws, cases)) < pair.redrawn
    other = np.where(anew, random.integers(STEPS, size=(draws, cases)), place)
    return pair.spread.quantiles()[place], pair.candidate.quantiles()[other]


def two_runs(
    pair: Pair, size: Size, draws: int, random: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    """Return passes and trials of the base, then of the candidate, each [draws, cases]."""
    base, candidate = paired_rates(pair, size.cases, draws, random)
    return (
        *_asked(base, size.repetitions, random),
        *_asked(candidate, size.repetitions, random),
    )


def _asked(rates: Array, repetitions: int, random: np.random.Generator) -> tuple[Array, Array]:
    trials = np.full(rates.shape, repetitions)
    return random.binomial(trials, rates), trials


@dataclass(frozen=True)
class Families:
    """Runs whose cases come in families: what one of them came to tells of its sisters.

    The logit of a case is that of the mean plus a normal part of its family, one of its own, and,
    in each run anew, one that the whole family has in common there: a template that a model
    version happens to like.
    """

    rate: float
    """In the middle of the logits."""
    families: int = 10
    cases: int = 5
    """Of each family."""
    repetitions: int = 3
    spread: float = 1.5
    """Standard deviation of the families."""
    own: float = 0.5
    """Of the cases inside a family."""
    taste: float = 0.0
    """Of a family from run to run."""

    def runs(self, draws: int, random: np.random.Generator, n_runs: int = 1) -> tuple[Array, ...]:
        """Return passes and trials of each run, run after run, each [draws, families, cases]."""
        shape = draws, self.families, 1
        logit = np.log(self.rate / (1 - self.rate)) + self.spread * random.standard_normal(shape)
        logit = logit + self.own * random.standard_normal((draws, self.families, self.cases))
        found: list[Array] = []
        for _ in range(n_runs):
            moved = logit + self.taste * random.standard_normal(shape)
            found += _asked(1 / (1 + np.exp(-moved)), self.repetitions, random)
        return tuple(found)

    def true_rate(self) -> float:
        """Return the mean rate of all cases that there may be."""
        sd = float(np.sqrt(self.spread**2 + self.own**2 + self.taste**2))
        points, weights = np.polynomial.hermite_e.hermegauss(80)
        logits = np.log(self.rate / (1 - self.rate)) + sd * points
        return float((weights / (1 + np.exp(-logits))).sum() / weights.sum())


def of_cases(counts: Array) -> Array:
    """Return counts of families [draws, families, cases] as if no family were known."""
    return counts.reshape(len(counts), -1)


def of_families(counts: Array) -> Array:
    """Return the sums over the cases of each family [draws, families]."""
    summed: Array = counts.sum(axis=2)
    return summed


FAMILIES = tuple(
    Families(rate, repetitions=repetitions, spread=spread, taste=taste)
    for repetitions in (1, 3, 5)
    for rate in (0.5, 0.8, 0.95)
    for spread in (0.5, 1.5, 3.0)
    for taste in (0.0, 0.5, 1.0)
)


@dataclass(frozen=True)
class Nights:
    """A suite that is run every night, until one night its rate changes for good."""

    size: Size
    spread: Spread = Spread(0.8, 0.5)
    nights: int = 60
    shift_at: int | None = None
    """Index of the first night of the new level; None: it never changes."""
    change: float = 0.0
    noise: float = 0.0
    """Standard deviation by which the logit of every case moves together from night to night."""
    memory: float = 0.0
    """Correlation of one night with the next: nights that drift."""
    heals_at: int | None = None
    """Index of the first night on which the rate is as before again; None: it never is."""


def passes_of_nights(nights: Nights, random: np.random.Generator) -> tuple[Array, Array]:
    """Return passes and trials [nights, cases] of one series; a shift scales the rates of cases."""
    rates = nights.spread.quantiles()[random.integers(STEPS, size=nights.size.cases)]
    by_night = np.tile(rates, (nights.nights, 1))
    if nights.shift_at is not None:
        by_night[nights.shift_at : nights.heals_at] *= 1 + nights.change / rates.mean()
    inside = np.clip(by_night, 1e-9, 1 - 1e-9)
    moved = _drifting(random.standard_normal((nights.nights, 1)), nights.memory)
    logit = np.log(inside / (1 - inside)) + nights.noise * moved
    return _asked(1 / (1 + np.exp(-logit)), nights.size.repetitions, random)


def _drifting(nights: Array, memory: float) -> Array:
    """Return noise of nights in which each holds on to a share of the night before it."""
    if not memory:
        return nights
    drifting = nights.copy()
    for night in range(1, len(nights)):
        drifting[night] = memory * drifting[night - 1] + np.sqrt(1 - memory**2) * nights[night]
    return drifting


@dataclass(frozen=True)
class Times:
    """The latency of a suite that is run every night; `kind` is the noise from night to night."""

    kind: str
    """`normal`, `t3` (heavy tails) or `spikes` (a night in twelve takes ten times as long)."""
    cases: int = 30
    nights: int = 60
    shift_at: int | None = None
    ratio: float = 1.0
    noise: float = 0.08
    memory: float = 0.0
    """Correlation of one night with the next: nights that drift."""


def times_of_nights(times: Times, random: np.random.Generator) -> Array:
    """Return the mean of ln ms [nights, cases] of one series."""
    case = random.normal(7, 0.5, size=times.cases)
    shape = (times.nights, 1)
    night = times.noise * _drifting(random.standard_normal(shape), times.memory)
    if times.kind == "t3":
        night = times.noise / np.sqrt(3) * random.standard_t(3, shape)
    if times.kind == "spikes":
        night += np.log(SPIKE) * (random.random(shape) < 1 / 12)
    if times.shift_at is not None:
        night[times.shift_at :] += np.log(times.ratio)
    return case + night + random.normal(0, 0.1, size=(times.nights, times.cases))


def changed_cells(
    n_cells: int, nights: int, repetitions: int, changes: Array, random: np.random.Generator
) -> list[tuple[Array, Array]]:
    """Return passes and trials of single cells, of which some drop in the middle of the nights.

    Args:
        n_cells: cells; their rates are spread around 0.8.
        nights: runs of each.
        repetitions: trials of a cell in a run.
        changes: drop of each of the first cells, as a share; the others never change.
        random: where chance comes from.
    """
    rates = Spread(0.8, 0.5).quantiles()[random.integers(STEPS, size=n_cells)]
    rates[: len(changes)] = np.maximum(rates[: len(changes)], changes)
    by_night = np.tile(rates, (nights, 1))
    by_night[nights // 2 :, : len(changes)] -= changes
    passed, scored = _asked(by_night, repetitions, random)
    return [(passed[:, cell], scored[:, cell]) for cell in range(n_cells)]

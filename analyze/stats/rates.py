"""Rates over cases and what is said by them: pass@k and pass^k, best models, flaky cells, tiers.

Works on counts per case of trials with a verdict that were made in this very run: a reused answer
is no new draw. Decides nothing about single cases. The interval of a rate over cases is what tiers
and routing judge by. Loads neither numpy nor scipy by itself, since the collector plans with it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from analyze.stats.intervals import Clusters, mean_of_units, n_clusters, unit_sums, wilson_shrunk
from analyze.stats.paired_rates import rate_test
from schemas.base import Interval, PassK
from schemas.config.project import Thresholds
from schemas.output.summary import TierLabel

CaseValue = Callable[[int, int, int], float]
"""(m trials, c passes, k) of one case to its value."""

MIN_RANKED_UNITS = 5
"""Fewer cases with a verdict, or clusters of them, say too little to name a model best."""

ROUNDING = 1e-9
"""A coverage may be this much below its limit, since it is a quotient."""

MIN_TRIALS = 5
"""Fewest trials for limits."""

MIN_FLAKY_RATE = 0.10
"""Chance of a disagreement that makes a cell flaky."""

TAIL = 0.025
"""On either side of the 95 % limits."""

Steadiness = Literal["flaky", "steady", "unknown"]

MIN_IDENTICAL_PERCENT = 95
"""From this share of repeated cases on, repetitions count as one trial."""

Tier = Literal[1, 2, 3]

DEFAULT = Thresholds()

LABELS: MappingProxyType[Tier, TierLabel] = MappingProxyType(
    {
        1: "Tier 1 (Tool-Capable)",
        2: "Tier 2 (Tool-Capable but Inconsistent)",
        3: "Tier 3 (Tool-Incapable)",
    }
)


def pass_at_k(m: int, c: int, k: int) -> float:
    """Chance that at least one of k trials drawn without replacement passes: 1 - C(m-c,k)/C(m,k).

    Chen et al. 2021, arXiv 2107.03374, section 2.1.
    """
    draws = math.comb(m, k)
    return (draws - math.comb(m - c, k)) / draws


def pass_hat_k(m: int, c: int, k: int) -> float:
    """Chance that all of k trials drawn without replacement pass: C(c,k)/C(m,k).

    Yao et al. 2024, arXiv 2406.12045.
    """
    return math.comb(c, k) / math.comb(m, k)


def steps_of_k(most: int) -> tuple[int, ...]:
    """Return 1, 2, 3, 5, 10, 20, 30, 50, 100 … up to `most`, and `most` itself."""
    round_steps = itertools.takewhile(lambda k: k <= most, _round_steps())
    return tuple(sorted({*round_steps, *((most,) if most else ())}))


def _round_steps() -> Iterator[int]:
    return (digit * 10**power for power in itertools.count() for digit in (1, 2, 3, 5))


def pass_curve(
    value: CaseValue, m: Sequence[int], c: Sequence[int], *, identical: bool
) -> tuple[PassK, ...]:
    """Return the mean over cases at every step of k, with its interval.

    Args:
        value: `pass_at_k` or `pass_hat_k`.
        m: independent trials with a verdict, a case each; 0 for a case that got none.
        c: those of them that passed.
        identical: repetitions gave the same bytes, so each case counts as one trial.
    """
    most = min(max(m, default=0), 1) if identical else max(m, default=0)
    return tuple(_point(value, m, c, k, identical=identical) for k in steps_of_k(most))


def _point(
    value: CaseValue, m: Sequence[int], c: Sequence[int], k: int, *, identical: bool
) -> PassK:
    cases = [(trials, passes) for trials, passes in zip(m, c, strict=True) if trials >= k]
    of = {case: value(*case, k) for case in set(cases)}
    values = [of[case] for case in cases]
    draws = [1 if identical else trials // k for trials, _ in cases]
    return PassK(
        k=k,
        value=math.fsum(values) / len(values),
        ci95=mean_of_units(values, draws, n_trials=sum(trials for trials, _ in cases)),
        n_cases=len(cases),
        n_cases_short=len(m) - len(cases),
    )


@dataclass(frozen=True)
class CaseRate:
    """Hits among the trials of several cases; rate and interval are None without any."""

    n_cases: int
    n_trials: int
    n_hits: int
    rate: float | None
    interval: Interval | None
    n_clusters: int | None = None
    """Units that the cases make up; None: each stands alone."""

    @property
    def n_units(self) -> int:
        """Draws that the rate rests on."""
        return self.n_cases if self.n_clusters is None else self.n_clusters


def interval_of_units(
    clusters: Clusters, hits: Sequence[int], trials: Sequence[int]
) -> Interval | None:
    """Return the 95 % interval of the mean rate of units, which clusters of cases are.

    A case without trials is left out.
    """
    if not any(clusters):
        return wilson_shrunk(hits, trials)
    kept = [case for case in zip(clusters, hits, trials, strict=True) if case[2]]
    if not kept:
        return None
    names, *counts = (list(column) for column in zip(*kept, strict=True))
    found = wilson_shrunk(*unit_sums(names, *counts))
    sizes = {"n_cases": len(kept), "n_clusters": n_clusters(names)}
    return None if found is None else found.model_copy(update=sizes)


def case_rate(hits: Sequence[int], trials: Sequence[int], clusters: Clusters = ()) -> CaseRate:
    """Return the rate over cases.

    A case without trials is left out; without clusters each stands alone.
    """
    n_trials, n_hits = sum(trials), sum(hits)
    tried = [cluster for cluster, m in zip(clusters, trials, strict=False) if m]
    return CaseRate(
        n_cases=sum(1 for m in trials if m),
        n_trials=n_trials,
        n_hits=n_hits,
        rate=n_hits / n_trials if n_trials else None,
        interval=interval_of_units(clusters, hits, trials),
        n_clusters=n_clusters(tried),
    )


NO_RATE = case_rate((), ())
"""Of something that was never tried."""


def is_ranked(n_units: int, coverage: float | None, min_coverage: float) -> bool:
    """Return whether a model may be named best: its cases and its coverage suffice.

    Args:
        n_units: cases with a verdict, or clusters of them.
        coverage: share of the scorable trials with a verdict.
        min_coverage: limit in force.
    """
    is_covered = (coverage or 0.0) >= min_coverage - ROUNDING
    return is_covered and n_units >= MIN_RANKED_UNITS


class RankedModel(NamedTuple):
    """A model with its passed rate, and (passed, scored) trials of its own of each case."""

    rate: float
    cases: Mapping[Hashable, tuple[int, int]]


def may_be_best(models: Sequence[RankedModel], alpha: float = 0.05) -> list[bool]:
    """Return for each model whether it may be the best.

    The highest rate may be, and so may every model that is not shown to be worse than one of that
    rate on the cases that both were asked.

    The best was chosen by looking, so any pair of models could have been tested: each p is
    multiplied by the number of pairs (Bonferroni; Holm over the rivals alone leaves out one of ten
    equal models in 10 to 14 of 100 draws). All are of one run, so that they met the same night.
    """
    highest = max((model.rate for model in models), default=0.0)
    best = [model for model in models if model.rate == highest]
    n_pairs = len(models) * (len(models) - 1) // 2
    return [
        model.rate == highest or not any(_is_worse(model, one, alpha / n_pairs) for one in best)
        for model in models
    ]


def _is_worse(model: RankedModel, best: RankedModel, alpha: float) -> bool:
    common = [
        (*model.cases[case], *counts)
        for case, counts in best.cases.items()
        if counts[1] and case in model.cases and model.cases[case][1]
    ]
    if not common:
        return False
    k_a, m_a, k_b, m_b = zip(*common, strict=True)
    lead = sum(b / n_b - a / n_a for a, n_a, b, n_b in common)
    return lead > 0 and rate_test(k_a, m_a, k_b, m_b).p <= alpha


def flip_rate(k: int, n: int) -> float | None:
    """Return the share of disagreeing pairs, 2 k (n - k) / (n (n - 1)), or None below two trials.

    Nei 1978 (Genetics 89:583) for this unbiased estimate of 2 p (1 - p).

    The chance is that of two trials drawn at random under the same fingerprint, whatever their
    order: transitions between neighbouring runs are never counted.

    Raises:
        ValueError: not 0 <= k <= n.
    """
    _check(k, n)
    return 2 * k * (n - k) / (n * (n - 1)) if n > 1 else None


def flip_limits(k: int, n: int) -> tuple[float, float] | None:
    """Return the 95 % limits of the chance that two trials disagree, or None below five trials.

    Jeffreys limits of the pass rate p (Brown, Cai, DasGupta 2001, section 4.3: 0 and 1 at the
    ends), mapped by 2 p (1 - p); the upper one is 0.5 when they straddle one half.

    Raises:
        ValueError: not 0 <= k <= n.
    """
    _check(k, n)
    if n < MIN_TRIALS:
        return None
    low, high = _jeffreys(k, n)
    ends = 2 * low * (1 - low), 2 * high * (1 - high)
    return min(ends), 0.5 if low <= 0.5 <= high else max(ends)


def steadiness(k: int, n: int) -> Steadiness:
    """Return `flaky` when two trials surely disagree in 10 % or more, `steady` when surely less.

    Raises:
        ValueError: not 0 <= k <= n.
    """
    limits = flip_limits(k, n)
    if limits is None:
        return "unknown"
    low, high = limits
    return "flaky" if low >= MIN_FLAKY_RATE else "steady" if high < MIN_FLAKY_RATE else "unknown"


def _jeffreys(k: int, n: int) -> tuple[float, float]:
    from scipy.special import betaincinv  # noqa: PLC0415 - half a second that others need not wait

    low = 0.0 if k == 0 else float(betaincinv(k + 0.5, n - k + 0.5, TAIL))
    high = 1.0 if k == n else float(betaincinv(k + 0.5, n - k + 0.5, 1 - TAIL))
    return low, high


def _check(k: int, n: int) -> None:
    if not 0 <= k <= n:
        message = f"passes lie between 0 and the number of trials, got {k} of {n}"
        raise ValueError(message)


def repetitions_identical(n_repeated: int, n_identical: int) -> bool | None:
    """Return whether repeating changed nothing, or None when nothing was repeated.

    See S21.
    """
    if n_repeated == 0:
        return None
    return 100 * n_identical >= MIN_IDENTICAL_PERCENT * n_repeated


def tier_of(rate: float | None, bounds: Thresholds = DEFAULT) -> Tier | None:
    """Return the tier of a tool-use rate; None, unrated, where nothing was tried.

    The rate decides the tier, the interval decides how sure it is. The bounds are half open, so
    that no rate falls between two tiers: 79.5 % is tier 2.
    """
    if rate is None:
        return None
    if rate >= bounds.tier_1_from:
        return 1
    return 2 if rate >= bounds.tier_2_from else 3


def tier_confident(
    tier: Tier | None, interval: Interval | None, bounds: Thresholds = DEFAULT
) -> bool | None:
    """Return whether the whole interval lies inside the tier; None without an interval."""
    if tier is None or interval is None:
        return None
    return tier_of(interval.low, bounds) == tier_of(interval.high, bounds) == tier

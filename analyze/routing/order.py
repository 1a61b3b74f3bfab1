"""The order of models: by quality where one stands before another, then by cost and latency.

A rate of one model beside the cases of the scope that it was not asked.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

from analyze.routing.paired import (
    AHEAD,
    Cases,
    Draws,
    PairedRule,
    by_unit,
    paired_quality,
    standing,
)
from analyze.stats.rates import CaseRate, case_rate
from schemas.output.route import Standing


@dataclass(frozen=True)
class Candidate:
    """What the order of a model depends on."""

    name: tuple[str, ...]
    cases: Cases
    cost_usd: float | None
    p95_ms: float | None
    rate: float | None


@dataclass(frozen=True)
class Order:
    """Places of candidates, best first."""

    places: tuple[int, ...]
    """Their numbers."""
    apart: tuple[int, ...]
    """Those that might as well stand first, and share no case with the one that does."""


def order_of(candidates: Sequence[Candidate], rule: PairedRule) -> Order:
    """Return the order of candidates.

    First comes, of those that the fewest others stand before, the cheapest, then the fastest, then
    the one with the highest rate; it is taken out, and so on. Where standings go round in a circle
    this still ends, and with two models it is what the standing says. It takes a test a pair.
    """
    stands = _standings(candidates, rule)
    left = set(range(len(candidates)))
    places: list[int] = []
    apart: tuple[int, ...] = ()
    while left:
        n_before = {one: sum(stands[other][one] in AHEAD for other in left - {one}) for one in left}
        fewest = min(n_before.values())
        front = [one for one in left if n_before[one] == fewest]
        first = _first(candidates, front, rule.ratio_margin)
        if not places:
            apart = tuple(sorted(one for one in front if stands[first].get(one) == "apart"))
        places.append(first)
        left.remove(first)
    return Order(tuple(places), apart)


def _standings(candidates: Sequence[Candidate], rule: PairedRule) -> list[dict[int, Standing]]:
    """Return how each stands to each other one."""
    mirror: dict[Standing, Standing] = {
        "better": "worse",
        "worse": "better",
        "likely_better": "likely_worse",
        "likely_worse": "likely_better",
        "fuller": "thinner",
        "thinner": "fuller",
        "level": "level",
        "apart": "apart",
    }
    stands: list[dict[int, Standing]] = [{} for _ in candidates]
    for one, own in enumerate(candidates):
        for two in range(one):
            found = standing(paired_quality(own.cases, candidates[two].cases), rule)
            stands[one][two], stands[two][one] = found, mirror[found]
    return stands


def _first(candidates: Sequence[Candidate], front: Sequence[int], ratio_margin: float) -> int:
    """Return the one to name first of models between which no quality decides.

    The cheapest and all that cost as much in practice, of them the fastest and all that are as
    fast, of them the one with the highest rate.
    """
    for value in (_cost, _time):
        least = min(value(candidates[one]) for one in front)
        front = [one for one in front if value(candidates[one]) <= least * (1 + ratio_margin)]
    return min(front, key=lambda one: (-(candidates[one].rate or 0.0), candidates[one].name))


def _cost(candidate: Candidate) -> float:
    return math.inf if candidate.cost_usd is None else candidate.cost_usd


def _time(candidate: Candidate) -> float:
    return math.inf if candidate.p95_ms is None else candidate.p95_ms


@dataclass(frozen=True)
class ScopeRate:
    """Hits of one model in the cases of the scope."""

    asked: CaseRate
    """Over the cases that it was asked."""
    n_cases: int
    """Those cases."""
    n_lacking: int
    """Cases that another model was asked, and it was not."""
    n_lacking_units: int
    """Clusters that these are of, where they have one, and cases that stand alone."""
    is_clustered: bool
    """Cases share clusters, which are what counts then."""
    least: CaseRate
    """With those counted as failed."""
    n_identical: int
    """Further repetitions that came back byte for byte the same: no draws of their own."""
    n_reused: int
    """Answers of another run, of cases that have others."""
    most: float | None
    """Rate with those counted as passed: the mean over cases, or clusters where they have one."""

    @property
    def n_scope(self) -> int:
        """Cases that any model was asked."""
        return self.n_cases + self.n_lacking


def scope_rate(cases: Collection[Draws], lacking: Collection[Hashable] = ()) -> ScopeRate:
    """Return the rate of one model.

    Args:
        cases: what became of each case that it was asked.
        lacking: the unit of each case of the scope that it was not asked.
    """
    asked = _rate(cases)
    most = asked.rate
    if lacking:
        hits, trials = by_unit((*cases, *(Draws(1, 1, unit) for unit in lacking)))
        most = math.fsum(k / m for k, m in zip(hits, trials, strict=True)) / len(hits)
    return ScopeRate(
        asked=asked,
        n_cases=len(cases),
        n_lacking=len(lacking),
        n_lacking_units=len(set(lacking)),
        is_clustered=any(isinstance(unit, str) for unit in (*(c.unit for c in cases), *lacking)),
        least=_rate((*cases, *(Draws(0, 1, unit) for unit in lacking))) if lacking else asked,
        n_identical=sum(case.n_identical for case in cases),
        n_reused=sum(case.n_reused for case in cases),
        most=most,
    )


def _rate(cases: Collection[Draws]) -> CaseRate:
    """Return the rate over cases, whose interval is that of units: a cluster is named by a text."""
    clusters = [case.unit if isinstance(case.unit, str) else None for case in cases]
    return case_rate([case.hits for case in cases], [case.trials for case in cases], clusters)


NO_SCOPE_RATE = scope_rate(())
"""Where no model was ever asked."""

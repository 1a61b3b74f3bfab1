"""The order of models: by quality where one stands before another, then by cost and latency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analyze.routing.paired import AHEAD, Cases, PairedRule, paired_quality, standing
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

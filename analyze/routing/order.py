"""The order of models: by quality where one stands before another, then by cost and latency.

A model that was asked easier cases has a higher rate and is no better for it. So two models are
compared on what they share alone, paired by case (by cluster where cases have one); what either was
asked besides is counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from analyze.stats.paired_rates import rate_test
from analyze.stats.rates import CaseRate, case_rate
from schemas.output.route import Standing

Case = tuple[str, str, str | None]
"""(suite_id, case_id, case_hash)."""


class Draws(NamedTuple):
    """What became of the trials of one case."""

    hits: int
    trials: int
    """At least one."""
    unit: Hashable
    """The cluster that it shares with others, or the case itself: what is one draw of the work."""
    n_identical: int = 0
    """Further repetitions that came back byte for byte the same, and are not counted."""
    n_reused: int = 0
    """Answers of another run, not counted where the case has others."""


Cases = Mapping[Case, Draws]

AHEAD: frozenset[Standing] = frozenset({"better", "likely_better", "fuller"})


@dataclass(frozen=True)
class PairedRule:
    """What makes one model stand before another.

    Attributes:
        alpha: p up to which a difference is shown.
        margin: difference of rates that does not matter, as a share; None: no difference matters
            that is not shown, since a quality was asked for that both reach.
        min_coverage: share of the other's cases from which on a model was asked what it was.
        ratio_margin: costs and times this close (0.1: 10 %) are the same in practice.
    """

    alpha: float = 0.05
    margin: float | None = None
    min_coverage: float = 0.95
    ratio_margin: float = 0.10


@dataclass(frozen=True)
class PairedQuality:
    """One model beside another one."""

    n_shared: int
    """Cases that both were asked."""
    n_own: int
    """Cases that it was asked."""
    n_other: int
    """Cases that the other one was asked."""
    own_rate: float | None
    """Mean of its case rates over the shared cases; None without any."""
    other_rate: float | None
    """The same of the other one."""
    p: float | None
    """Of the paired test of their difference; None without a shared case."""

    @property
    def difference(self) -> float:
        """Own rate minus the other's, over the shared cases; 0 without any."""
        return (self.own_rate or 0.0) - (self.other_rate or 0.0)


def paired_quality(own: Cases, other: Cases) -> PairedQuality:
    """Return one model beside another one, on the cases that both were asked."""
    shared = [case for case in own if case in other]
    if not shared:
        return PairedQuality(0, len(own), len(other), None, None, None)
    k_own, m_own = by_unit(own[case] for case in shared)
    k_other, m_other = by_unit(other[case]._replace(unit=own[case].unit) for case in shared)
    return PairedQuality(
        n_shared=len(shared),
        n_own=len(own),
        n_other=len(other),
        own_rate=_mean(k_own, m_own),
        other_rate=_mean(k_other, m_other),
        p=rate_test(k_other, m_other, k_own, m_own).p,
    )


def by_unit(cases: Iterable[Draws]) -> tuple[list[int], list[int]]:
    """Return hits and trials of each unit, in the order in which units first appear."""
    hits: Counter[Hashable] = Counter()
    trials: Counter[Hashable] = Counter()
    for case in cases:
        hits[case.unit] += case.hits
        trials[case.unit] += case.trials
    return list(hits.values()), list(trials.values())


def standing(pair: PairedQuality, rule: PairedRule) -> Standing:
    """Return how a model stands to the other one.

    `better` and `worse` are shown by the test. Where nothing is shown, a model that lacks cases of
    the other is `thinner`, and the other, if it lacks none itself, `fuller`; else a difference
    above the margin is `likely_better` or `likely_worse`; else they are `level`. `apart` are two
    models that were asked something each, and nothing in common.
    """
    if not pair.n_shared:
        if pair.n_own and pair.n_other:
            return "apart"
        return "fuller" if pair.n_own else "thinner" if pair.n_other else "level"
    if pair.p is not None and pair.p <= rule.alpha:
        return "better" if pair.difference > 0 else "worse"
    lacks = pair.n_shared < rule.min_coverage * pair.n_other
    is_lacked = pair.n_shared < rule.min_coverage * pair.n_own
    if lacks != is_lacked:
        return "thinner" if lacks else "fuller"
    if rule.margin is None or abs(pair.difference) <= rule.margin:
        return "level"
    return "likely_better" if pair.difference > 0 else "likely_worse"


def _mean(hits: Sequence[int], trials: Sequence[int]) -> float:
    return math.fsum(k / m for k, m in zip(hits, trials, strict=True)) / len(hits)


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
    for values in ([one.cost_usd for one in candidates], [one.p95_ms for one in candidates]):
        known = [math.inf if value is None else value for value in values]
        least = min(known[one] for one in front)
        front = [one for one in front if known[one] <= least * (1 + ratio_margin)]
    return min(front, key=lambda one: (-(candidates[one].rate or 0.0), candidates[one].name))


@dataclass(frozen=True)
class ScopeRate:
    """Hits of one model in the cases of the scope.

    A model that was asked the easy half of the scope has a high rate of that half and nothing is
    known of the other. So a need is met when it is met with every case that is lacking counted as
    failed, and missed when it is missed with all of them counted as passed (the bounds of Manski
    2003, chapter 1); between the two it is open.
    """

    observed: CaseRate
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
        most = _mean(hits, trials)
    return ScopeRate(
        observed=asked,
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

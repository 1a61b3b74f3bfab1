"""Two models on the cases that both were asked: which is better, and how sure that is.

A model that was asked easier cases has a higher rate and is no better for it. So two models are
compared on what they share alone, paired by case (by cluster where cases have one); what either
was asked besides is counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from analyze.stats.paired_rates import rate_test
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
BEHIND: frozenset[Standing] = frozenset({"worse", "likely_worse", "thinner"})


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

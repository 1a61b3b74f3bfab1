"""A rate of one model beside the cases of the scope that it was not asked.

A model that was asked the easy half has a high rate of that half and nothing is known of the other.
So a need is met when it is met with every case that is lacking counted as failed, and missed when
it is missed with all of them counted as passed (the bounds of Manski 2003, chapter 1); between the
two it is open.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from dataclasses import dataclass

from analyze.routing.paired import Draws, by_unit
from analyze.stats.case_rate import CaseRate, case_rate


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

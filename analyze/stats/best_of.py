"""Which of several models may be the best: the one with the highest rate, and whom it leaves alone.

The best was chosen by looking, so any pair of models could have been tested: each p is multiplied
by the number of pairs (Bonferroni; Holm over the rivals alone leaves out one of ten equal models in
10 to 14 of 100 draws).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from analyze.stats.rate_test import rate_test

MIN_RANKED_UNITS = 5
"""Fewer cases with a verdict, or clusters of them, say too little to name a model best."""

ROUNDING = 1e-9
"""A coverage may be this much below its limit, since it is a quotient."""


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

    Args:
        models: of one run, so that they met the same night.
        alpha: chance that one of equal models is left out.
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

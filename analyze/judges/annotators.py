"""Agreement of people who gave verdicts, where most trials pass, or fail.

Chance-corrected agreement falls where one verdict is rare, however alike the annotators are, so
beside kappa stand AC1, which does not, and how common a pass is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True)
class VerdictAgreement:
    """Of trials that two annotators or more labelled."""

    n_shared: int
    same: float
    kappa: float | None
    ac1: float
    pass_share: float


def verdict_agreement(trials: Sequence[Mapping[str, float]]) -> VerdictAgreement | None:
    """Return how far annotators agree on verdicts; None where no trial has two of them.

    `same` is the mean over trials of the share of pairs that agree. AC1 = (same - e) / (1 - e) with
    e = 2 q (1 - q), q the mean share of passes (Gwet 2008, Br. J. Math. Stat. Psychol. 61, two
    categories). Kappa is Cohen's of 1960, by the shares of either annotator; None unless the same
    two labelled all of these trials, and where chance alone would agree on everything.

    Args:
        trials: annotator to verdict, 1 or 0.
    """
    shared = [list(said.items()) for said in trials if len(said) > 1]
    if not shared:
        return None
    same, shares = [], []
    for said in shared:
        n, passed = len(said), sum(verdict for _, verdict in said)
        failed = n - passed
        same.append((passed * (passed - 1) + failed * (failed - 1)) / (n * (n - 1)))
        shares.append(passed / n)
    observed, passing = fmean(same), fmean(shares)
    expected = 2 * passing * (1 - passing)
    return VerdictAgreement(
        len(shared),
        observed,
        _kappa([dict(said) for said in shared], observed),
        (observed - expected) / (1 - expected),
        passing,
    )


def _kappa(shared: Sequence[Mapping[str, float]], observed: float) -> float | None:
    names = sorted(shared[0])
    if len(names) != 2 or any(sorted(said) != names for said in shared):
        return None
    one, other = (fmean(said[name] for said in shared) for name in names)
    expected = one * other + (1 - one) * (1 - other)
    return None if expected == 1 else (observed - expected) / (1 - expected)

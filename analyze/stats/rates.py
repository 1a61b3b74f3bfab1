"""What repeating a case tells: pass@k, pass^k, and whether the answers differed at all.

Works on counts per case of trials with a verdict that were made in this very run: a reused answer
is no new draw. Decides nothing about single cases.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from analyze.stats.intervals import mean_of_units
from schemas.base import PassK

CaseValue = Callable[[int, int, int], float]
"""(m trials, c passes, k) of one case to its value."""


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
    values = [value(trials, passes, k) for trials, passes in cases]
    draws = [1 if identical else trials // k for trials, _ in cases]
    return PassK(
        k=k,
        value=math.fsum(values) / len(values),
        ci95=mean_of_units(values, draws, n_trials=sum(trials for trials, _ in cases)),
        n_cases=len(cases),
        n_cases_short=len(m) - len(cases),
    )

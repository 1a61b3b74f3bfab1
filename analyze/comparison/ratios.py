"""Times, tokens and costs of one model on both sides, as paired ratios: S9.

The value of a case is the mean of ln over its trials, so that the ratio of two sides is one of
geometric means and a single slow trial moves it little. All cases of a night share its server:
between runs of different nights, what nights vary by is in the interval and in p.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analyze.comparison.evidence.outcomes import METRICS
from analyze.comparison.nights import Nights, night_noise
from analyze.comparison.pairing import PairedCase, Pooled
from analyze.render.numbers import percent
from analyze.stats.intervals import n_clusters, unit_means
from analyze.stats.night_noise import t_between_nights
from analyze.stats.paired_means import MeanDifference, paired_t
from analyze.stats.paired_rates import ROUNDING
from schemas.base import same_fields
from schemas.config.project import Thresholds
from schemas.output.comparison import NightNoise, Ratio, RatioMetric, Verdict

COST = METRICS.index("cost_usd")

MIN_CASES = 5
"""Pairs below which there is no ratio."""

MAX_COVERAGE_GAP = 0.05
"""Shares left out further apart than this: the sides measured different kinds of trials."""

Free = tuple[bool, bool]
"""Whether the base cost nothing, and whether the candidate did: every known cost of it is 0."""

NOTHING_PAID = "nothing was paid on either side"

FREE_SIDE: Mapping[Free, str] = {(True, False): "base", (False, True): "candidate"}


@dataclass(frozen=True)
class Measure:
    """One metric of one model before all p of the call are known."""

    metric: RatioMetric
    n_cases: int
    logs: MeanDifference | None
    left_out_base: float | None
    left_out_candidate: float | None
    totals_ratio: float | None
    n_clusters: int | None = None
    """Units that these cases make up; None when each stands alone."""
    barred: str | None = None
    """Why the model cannot be compared at all."""
    night: NightNoise | None = None
    """What nights vary by; None where both sides are the same ones."""
    free: Free = (False, False)

    @property
    def obstacle(self) -> str | None:
        """Why this ratio cannot be compared; None when it can."""
        if self.barred is not None:
            return self.barred
        if self.n_cases == 0:
            return "not measured on both sides"
        if self.free in FREE_SIDE:
            return f"every trial of the {FREE_SIDE[self.free]} cost 0, and a ratio needs two costs"
        if self.left_out_base is not None and self.left_out_candidate is not None:
            apart = abs(self.left_out_base - self.left_out_candidate)
            if apart > MAX_COVERAGE_GAP + ROUNDING:
                return (
                    f"censored: {percent(self.left_out_base)} % of the trials of the base and "
                    f"{percent(self.left_out_candidate)} % of the candidate are not in it"
                )
        if self.logs is None and self.free != (True, True):
            units = "cases" if self.n_clusters is None else "clusters of cases"
            return f"measured in fewer than {MIN_CASES} {units} on both sides"
        return None

    @property
    def p(self) -> float | None:
        """Of the paired t test; None where it is not compared."""
        return None if self.logs is None or self.obstacle is not None else self.logs.p


def measures_of(cases: Sequence[PairedCase], nights: Nights | None = None) -> tuple[Measure, ...]:
    """Return every metric of one model over its pairs of cases.

    Without nights both sides are the same ones.
    """
    return tuple(_measure(number, cases, nights) for number in range(len(METRICS)))


def _measure(number: int, cases: Sequence[PairedCase], nights: Nights | None) -> Measure:
    pairs = [(case.base.measured[number], case.candidate.measured[number]) for case in cases]
    logs = [(base.ln_mean, candidate.ln_mean) for base, candidate in pairs]
    both = [(base, candidate) for base, candidate in pairs if base.n and candidate.n]
    clusters = [case.cluster for case, (a, b) in zip(cases, pairs, strict=True) if a.n and b.n]
    before = math.fsum(base.total / base.n for base, _ in both)
    after = math.fsum(candidate.total / candidate.n for _, candidate in both)
    differences = [b - a for a, b in logs if a is not None and b is not None]
    free = _free(cases, number)
    known = clusters
    if any(free):
        known = [case.cluster for case in cases if all(map(_is_priced, case.sides))]
    return Measure(
        metric=METRICS[number],
        n_cases=len(known),
        n_clusters=n_clusters(known),
        logs=_tested(unit_means(clusters, differences), number, nights),
        left_out_base=_left_out([case.base for case in cases], number, is_free=free[0]),
        left_out_candidate=_left_out([case.candidate for case in cases], number, is_free=free[1]),
        totals_ratio=after / before if before > 0 else None,
        night=None if nights is None else night_noise(nights, nights.logs[number]),
        free=free,
    )


def _free(cases: Sequence[PairedCase], number: int) -> Free:
    """Return which sides cost nothing: what their trials cost is known, and it is 0."""
    if METRICS[number] != "cost_usd":
        return False, False
    base, candidate = (
        any(case.sides[place].counts.n_free for case in cases)
        and not any(case.sides[place].measured[number].n for case in cases)
        for place in (0, 1)
    )
    return base, candidate


def _is_priced(side: Pooled) -> bool:
    return bool(side.counts.n_free or side.measured[COST].n)


def _tested(
    differences: Sequence[float], number: int, nights: Nights | None
) -> MeanDifference | None:
    if nights is None:
        return paired_t(differences)
    return t_between_nights(differences, nights.logs[number], nights.n_base, nights.n_candidate)


def _left_out(sides: Sequence[Pooled], number: int, *, is_free: bool) -> float | None:
    """Return the share of the trials to be made in these runs that the metric does not hold."""
    made = sum(side.counts.n_planned - side.counts.n_reused for side in sides)
    held = sum(side.counts.n_free if is_free else side.measured[number].n for side in sides)
    return max(made - held, 0) / made if made > 0 else None


def ratio_of(measure: Measure, q: float | None, thresholds: Thresholds) -> Ratio:
    """Return one ratio of one model with its verdict; q is over all secondary metrics."""
    logs = measure.logs
    return Ratio(
        **same_fields(
            measure,
            "metric n_cases n_clusters p left_out_base left_out_candidate totals_ratio night",
        ),
        ratio=None if logs is None else math.exp(logs.mean),
        low=None if logs is None else math.exp(logs.low),
        high=None if logs is None else math.exp(logs.high),
        low90=None if logs is None else math.exp(logs.low90),
        high90=None if logs is None else math.exp(logs.high90),
        q=q,
        verdict=_verdict(measure, q, thresholds),
        reason=measure.obstacle or (NOTHING_PAID if all(measure.free) else None),
    )


def _verdict(measure: Measure, q: float | None, thresholds: Thresholds) -> Verdict:
    """Return the verdict: more time or money is worse, a difference inside the margin is none."""
    logs = measure.logs
    if measure.obstacle is not None:
        return "not_comparable"
    if logs is None:  # both sides cost nothing
        return "unchanged"
    margin = thresholds.ratio_margin
    if 1 - margin < math.exp(logs.low90) and math.exp(logs.high90) < 1 + margin:
        return "unchanged"
    if q is not None and q <= thresholds.alpha:
        return "regressed" if logs.mean > 0 else "improved"
    return "inconclusive"

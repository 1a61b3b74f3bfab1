"""What a plan may assume of a model, from its own runs: pass rate, rho, kappa, and how nights vary.

The newest run and the one before it tell the first three, up to 20 runs the last. What they do not
tell has a default, and is named as assumed. Trials that were taken over from an older run are no
new draw, so whoever reads the runs leaves them out. Standard library only: the collector plans
with it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean, variance
from typing import Literal, NamedTuple

from analyze.stats.intervals import (
    Clusters,
    effective_trials,
    mean_rate,
    n_clusters,
    unit_places,
    unit_sums,
)
from analyze.stats.paired_rates import RateInterval, rate_difference
from analyze.stats.power.nights import MIN_KNOWN_RUNS, Nights, level_of_rates
from analyze.stats.power.smallest_drop import (
    BETWEEN_CASES,
    MIN_CASES,
    PASS_RATE,
    SAME_HARD_CASES,
    kappa_of,
    parts_of_one,
)
from analyze.stats.rates import repetitions_identical

MAX_RUNS = 20
"""Runs of a suite that are looked into, the newest first: nights vary, and a tiny run or an outage
tells nothing."""

MIN_COMMON_SHARE = 0.8
"""Share of the newest run's cases that a night must have to be one of the same level."""

Z2 = NormalDist().inv_cdf(0.975) ** 2

DUST = 1e-9

NOTHING_OF_NIGHTS = Nights()

Part = Literal["pass_rate", "rho", "kappa"]


class ObservedCase(NamedTuple):
    """What became of one case with one model in one run, reused answers apart."""

    case_hash: str | None
    n_scored: int
    n_passed: int
    is_repeated: bool = False
    """There are at least two answers."""
    is_identical: bool = False
    """They are the same, byte for byte."""

    @property
    def counts(self) -> tuple[int, int]:
        """Passes and trials."""
        return self.n_passed, self.n_scored

    @property
    def own(self) -> tuple[int, int]:
        """Passes and trials that a test counts: the same answer over again is one."""
        is_one = self.is_identical and self.n_scored and self.n_passed in {0, self.n_scored}
        return (self.n_passed // self.n_scored, 1) if is_one else self.counts


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """One model in one run; the shards of one plan are one run."""

    run_ids: tuple[str, ...]
    cases: Mapping[str, ObservedCase]
    """By case_id."""

    @property
    def n_cases(self) -> int:
        """Cases with a verdict."""
        return sum(case.n_scored > 0 for case in self.cases.values())

    @property
    def is_usable(self) -> bool:
        """Whether there are enough of them to plan with, which is as many as a gate needs."""
        return self.n_cases >= MIN_CASES


class ObservedPair(NamedTuple):
    """The last two runs beside each other."""

    n_cases: int
    repetitions: float
    """Trials of a case in each run, the same answer over again among them; the harmonic mean where
    they differ."""
    base_rate: float
    """Of the older one."""
    interval: RateInterval
    """Of their difference."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is planned with, and where it comes from; by default all of it is assumed."""

    pass_rate: float = PASS_RATE
    rho: float = BETWEEN_CASES
    kappa: float = SAME_HARD_CASES
    assumed: tuple[Part, ...] = ("pass_rate", "rho", "kappa")
    """Those of the three that no run told; of the nights `nights` says it."""
    pass_rate_seen: float | None = None
    """Of the newest run; of 1 or 0 `pass_rate` is the inner end of its interval."""
    n_cases: int = 0
    """Cases of the newest run that have a verdict."""
    run_ids: tuple[str, ...] = ()
    """The newest run."""
    before_run_ids: tuple[str, ...] = ()
    """The run before it, that kappa is from."""
    repetitions_identical: bool = False
    """Repetitions gave the same bytes and count as one."""
    share_within: float = 1 - BETWEEN_CASES
    """Share of a trial's variance within its case, on which the assumed nights rest."""
    nights: Nights = NOTHING_OF_NIGHTS
    night_run_ids: tuple[str, ...] = ()
    """Runs that tell how nights vary, the newest first."""
    pair: ObservedPair | None = None
    """The newest run beside the one before it, over their common cases."""
    cases_per_cluster: float | None = None
    """Sizes are in clusters and their trials, with so many cases each; None: in cases."""
    one_trial_a_case: bool = False
    """Of clusters: repetitions gave the same bytes, so a cluster has a trial for each case."""

    @property
    def none_passed(self) -> bool:
        """Nothing passed: such a rate can only rise."""
        return self.pass_rate_seen == 0

    @property
    def repeating_helps(self) -> bool:
        """Whether repetitions ever disagree; else they are one draw, however many they are."""
        return not self.repetitions_identical and self.rho < 1

    def draws(self, n_cases: int, repetitions: float) -> tuple[int, float]:
        """Return how many units a size has and how many trials each: clusters, or cases."""
        if self.cases_per_cluster is None:
            return n_cases, repetitions
        of_case = 1 if self.one_trial_a_case else repetitions
        n_units = math.ceil(n_cases / self.cases_per_cluster)
        return n_units, max(round(of_case * self.cases_per_cluster), 1)


def assumptions_of(
    runs: Iterable[ObservedRun],
    clusters: Mapping[str, str | None] | None = None,
    *,
    margin: float = 0.0,
) -> Assumptions:
    """Return what the newest usable runs of a model tell.

    Args:
        runs: of one model and suite, the newest first; those with fewer than 5 cases that have a
            verdict are passed over.
        clusters: of each case that can get a verdict, by case_id. Where a case is in one, all of
            it is about clusters: those are passed over that have fewer than 5 of them.
        margin: least step of a level shift, at which the nights that count begin.
    """
    names = list((clusters or {}).values())
    n_units = n_clusters(names)
    if clusters is None or n_units is None:
        return _assumptions([(run, run) for run in runs], None, margin)
    seen = list(runs)
    identical = any(_identical(run.cases.values()) for run in seen[:1])
    both = [(_by_cluster(run, clusters, once=identical), run) for run in seen]
    given = _assumptions(both, clusters, margin)
    return replace(given, cases_per_cluster=len(names) / n_units, one_trial_a_case=identical)


def _by_cluster(run: ObservedRun, clusters: Mapping[str, str | None], *, once: bool) -> ObservedRun:
    """Return a run with a cluster in the place of its cases.

    Cases without an entry in `clusters` are left out; with `once` one trial of each case counts.
    """
    case_ids = sorted(run.cases.keys() & clusters.keys())
    units: dict[int, list[ObservedCase]] = {}
    names: dict[int, str] = {}
    for case_id, place in zip(
        case_ids, unit_places([clusters[name] for name in case_ids]), strict=True
    ):
        units.setdefault(place, []).append(run.cases[case_id])
        names[place] = clusters[case_id] or f"{case_id} alone"
    return ObservedRun(
        run.run_ids, {names[place]: _together(cases, once=once) for place, cases in units.items()}
    )


def _together(cases: Sequence[ObservedCase], *, once: bool) -> ObservedCase:
    hashes = [case.case_hash for case in cases]
    known = [hash_ for hash_ in hashes if hash_ is not None]
    return ObservedCase(
        " ".join(known) if len(known) == len(hashes) else None,
        sum(min(case.n_scored, 1) if once else case.n_scored for case in cases),
        sum(min(case.n_passed, 1) if once else case.n_passed for case in cases),
    )


def _identical(cases: Iterable[ObservedCase]) -> bool:
    """Return whether repetitions gave the same bytes."""
    repeated = [case for case in cases if case.is_repeated]
    return repetitions_identical(len(repeated), sum(case.is_identical for case in repeated)) is True


def _assumptions(
    runs: Iterable[tuple[ObservedRun, ObservedRun]],
    clusters: Mapping[str, str | None] | None,
    margin: float,
) -> Assumptions:
    """Return what runs tell, each by its units and by its cases."""
    usable = [both for both in runs if both[0].is_usable]
    if not usable:
        return Assumptions()
    newest = usable[0][0]
    cases = [case for case in newest.cases.values() if case.n_scored]
    parts = parts_of_one([case.n_passed for case in cases], [case.n_scored for case in cases])
    identical = _identical(newest.cases.values())
    rho = 1.0 if identical else _clean(parts.rho)
    is_repeated = rho is not None and not identical
    common = _common(usable[0][1], usable[1][1]) if len(usable) > 1 else []
    if clusters is not None:
        common = [one for one in common if one.case_id in clusters]
    names = [None if clusters is None else clusters[one.case_id] for one in common]
    kappa, pair = two_runs(
        names,
        [(one.before.counts, one.newest.counts) for one in common],
        [(one.before.own, one.newest.own) for one in common],
    )
    nights, night_run_ids = _nights([run for run, _ in usable], margin)
    found: dict[Part, float | None] = {"rho": rho, "kappa": kappa}
    seen = parts.p or 0.0
    rho = BETWEEN_CASES if rho is None else rho
    return Assumptions(
        pass_rate=_inside(seen, cases),
        rho=rho,
        kappa=SAME_HARD_CASES if kappa is None else kappa,
        assumed=tuple(name for name, value in found.items() if value is None),
        pass_rate_seen=seen,
        n_cases=len(cases),
        run_ids=newest.run_ids,
        before_run_ids=usable[1][0].run_ids if common else (),
        repetitions_identical=identical,
        share_within=1 - rho if is_repeated else 1 - BETWEEN_CASES,
        nights=nights,
        night_run_ids=night_run_ids,
        pair=pair,
    )


BothCounts = Sequence[tuple[int, int]]
"""Passes and trials of a case in the older run or base, then in the newer one."""


def two_runs(
    clusters: Clusters, counts: Sequence[BothCounts], own: Sequence[BothCounts]
) -> tuple[float | None, ObservedPair | None]:
    """Return kappa of two runs, and how they stand beside each other; None below five units.

    Args:
        clusters: of each case that both were asked.
        counts: of each case.
        own: the same of trials that a test counts, where the same answer over again is one. Of
            clusters these tell kappa as well.
    """
    asked = _columns(counts)
    of_units = unit_sums(clusters, *_columns(own))
    if len(of_units[0]) < MIN_CASES:
        return None, None
    kappa = kappa_of(*(of_units if any(clusters) else asked))
    found = rate_difference(*of_units)
    if found is None:
        return kappa, None
    k_a, m_a, *_ = of_units
    _, asked_a, _, asked_b = unit_sums(clusters, *asked)
    repetitions = 2 * len(m_a) / math.fsum(1 / count for count in (*asked_a, *asked_b))
    base_rate = mean_rate([k / m for k, m in zip(k_a, m_a, strict=True)])
    return kappa, ObservedPair(len(k_a), repetitions, base_rate, found)


def _columns(cases: Sequence[BothCounts]) -> tuple[list[int], ...]:
    return tuple([case[side][place] for case in cases] for side in (0, 1) for place in (0, 1))


def _clean(rho: float | None) -> float | None:
    """Return a share without the dust of floating point, which would be printed as a number."""
    return 0.0 if rho is not None and rho < DUST else rho


def _inside(rate: float, cases: Sequence[ObservedCase]) -> float:
    """Return a rate, of 0 and 1 the inner end of its interval.

    A rate of exactly 1 would mean that nothing can ever vary, which no number of passes shows.
    """
    if 0 < rate < 1:
        return rate
    n_eff = effective_trials([rate] * len(cases), [case.n_scored for case in cases])
    return abs(rate - Z2 / (n_eff + Z2))


class _Both(NamedTuple):
    """A case that two runs were asked the same."""

    case_id: str
    newest: ObservedCase
    before: ObservedCase


def _common(newest: ObservedRun, before: ObservedRun) -> list[_Both]:
    """Return the cases with a verdict in both runs that were asked the same."""
    return [
        _Both(case_id, case, old)
        for case_id, case in newest.cases.items()
        if (old := before.cases.get(case_id)) is not None
        and case.case_hash is not None
        and case.case_hash == old.case_hash
        and case.n_scored
        and old.n_scored
    ]


def _nights(usable: Sequence[ObservedRun], margin: float) -> tuple[Nights, tuple[str, ...]]:
    """Return how much the level varies over runs beyond what chance within cases does, and which.

    The level of a run is the mean over its cases of how far each is from its own rate over all
    runs, so that cases which are missing now and then shift nothing. A run in which fewer than four
    in five of the newest one's cases were asked the same is no night of this level, nor is one
    before a level shift.
    """
    newest = usable[0]
    alike = [
        (run.run_ids, {one.case_id: one.before.own for one in _common(newest, run)})
        for run in usable
    ]
    alike = [one for one in alike if len(one[1]) >= MIN_COMMON_SHARE * newest.n_cases]
    alike = alike[: len(alike) - _level_begins([run for _, run in reversed(alike)], margin)]
    if len(alike) < MIN_KNOWN_RUNS:
        return Nights(), ()
    runs = [run for _, run in alike]
    passed: Counter[str] = Counter()
    scored: Counter[str] = Counter()
    for run in runs:
        for case_id, (k, m) in run.items():
            passed[case_id] += k
            scored[case_id] += m
    rates = {case_id: passed[case_id] / n for case_id, n in scored.items()}
    within = {
        case_id: rate * (1 - rate) * scored[case_id] / max(scored[case_id] - 1, 1)
        for case_id, rate in rates.items()
    }
    levels, by_chance = [], []
    for run in runs:
        off = (k / m - rates[case_id] for case_id, (k, m) in run.items())
        levels.append(math.fsum(off) / len(run))
        chance = (within[case_id] / m for case_id, (_, m) in run.items())
        by_chance.append(math.fsum(chance) / len(run) ** 2)
    run_ids = tuple(run_id for ids, _ in alike for run_id in ids)
    return Nights(max(variance(levels) - fmean(by_chance), 0.0), len(runs)), run_ids


def _level_begins(runs: Sequence[Mapping[str, tuple[int, int]]], margin: float) -> int:
    """Return with which of some runs, oldest first, the newest level begins."""
    case_ids = sorted({case_id for run in runs for case_id in run})
    table = [[run.get(case_id, (0, 0)) for case_id in case_ids] for run in runs]
    return level_of_rates(
        [[k for k, _ in row] for row in table],
        [[m for _, m in row] for row in table],
        [[int(m > 0) for _, m in row] for row in table],
        margin,
    )

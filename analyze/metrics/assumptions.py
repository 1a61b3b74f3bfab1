"""What a plan may assume of a model: pass rate, rho and kappa, from its own last two runs.

Each of the three that the runs do not tell is the default of statistics S11, and is named as
assumed. Trials that were taken over from an older run are no new draw, so whoever reads the runs
leaves them out. Standard library only: the collector plans with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple

from analyze.metrics.identical import repetitions_identical
from analyze.metrics.power import BETWEEN_CASES, PASS_RATE, SAME_HARD_CASES
from analyze.metrics.variance_parts import FEWEST_CASES, kappa_of, parts_of_one

LOOK_BACK = 5
"""Runs of a suite that are looked into, the newest first: a tiny run or an outage tells nothing."""

Z2 = NormalDist().inv_cdf(0.975) ** 2

DUST = 1e-9

Part = Literal["pass_rate", "rho", "kappa"]


class CaseSeen(NamedTuple):
    """What became of one case with one model in one run, reused answers apart."""

    case_hash: str | None
    n_scored: int
    n_passed: int
    is_repeated: bool = False
    """There are at least two answers."""
    is_identical: bool = False
    """They are the same, byte for byte."""


@dataclass(frozen=True, slots=True)
class RunSeen:
    """One model in one run; the shards of one plan are one run."""

    run_ids: tuple[str, ...]
    cases: Mapping[str, CaseSeen]
    """By case_id."""

    @property
    def n_cases(self) -> int:
        """Cases with a verdict."""
        return sum(case.n_scored > 0 for case in self.cases.values())

    @property
    def is_usable(self) -> bool:
        """Whether there are enough of them to plan with, which is as many as a gate needs."""
        return self.n_cases >= FEWEST_CASES


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is planned with, and where it comes from; by default all of it is assumed."""

    pass_rate: float = PASS_RATE
    rho: float = BETWEEN_CASES
    kappa: float = SAME_HARD_CASES
    assumed: tuple[Part, ...] = ("pass_rate", "rho", "kappa")
    """Those of the three that no run told."""
    pass_rate_seen: float | None = None
    """Of the newest run; of 1 or 0 `pass_rate` is the inner end of its interval."""
    n_cases: int = 0
    """Cases of the newest run that have a verdict."""
    run_ids: tuple[str, ...] = ()
    """The newest run."""
    before_run_ids: tuple[str, ...] = ()
    """The run before it, that kappa is from."""
    repetitions_identical: bool = False
    """Repetitions gave the same bytes and count as one (statistics S21)."""

    @property
    def none_passed(self) -> bool:
        """Nothing passed: such a rate can only rise."""
        return self.pass_rate_seen == 0

    @property
    def repeating_helps(self) -> bool:
        """Whether repetitions ever disagree; else they are one draw, however many they are."""
        return not self.repetitions_identical and self.rho < 1


def assumptions_of(runs: Iterable[RunSeen]) -> Assumptions:
    """Return what the newest usable runs of a model tell.

    Args:
        runs: of one model and suite, the newest first; those with fewer than 5 cases that have a
            verdict are passed over.
    """
    usable = [run for run in runs if run.is_usable][:2]
    if not usable:
        return Assumptions()
    newest = usable[0]
    cases = [case for case in newest.cases.values() if case.n_scored]
    parts = parts_of_one([case.n_passed for case in cases], [case.n_scored for case in cases])
    repeated = [case for case in newest.cases.values() if case.is_repeated]
    identical = repetitions_identical(len(repeated), sum(case.is_identical for case in repeated))
    rho = 1.0 if identical else _clean(parts.rho)
    kappa = _kappa(newest, usable[1]) if len(usable) > 1 else None
    found: dict[Part, float | None] = {"rho": rho, "kappa": kappa}
    seen = parts.p or 0.0
    return Assumptions(
        pass_rate=_inside(seen, cases),
        rho=BETWEEN_CASES if rho is None else rho,
        kappa=SAME_HARD_CASES if kappa is None else kappa,
        assumed=tuple(name for name, value in found.items() if value is None),
        pass_rate_seen=seen,
        n_cases=len(cases),
        run_ids=newest.run_ids,
        before_run_ids=() if kappa is None else usable[1].run_ids,
        repetitions_identical=identical is True,
    )


def _clean(rho: float | None) -> float | None:
    """Return a share without the dust of floating point, which would be printed as a number."""
    return 0.0 if rho is not None and rho < DUST else rho


def _inside(rate: float, cases: Sequence[CaseSeen]) -> float:
    """Return a rate, of 0 and 1 the inner end of Wilson's interval (statistics S3).

    A rate of exactly 1 would mean that nothing can ever vary, which no number of passes shows.
    """
    if 0 < rate < 1:
        return rate
    trials = [case.n_scored for case in cases]
    n_eff = sum(trials) ** 2 / sum(count**2 for count in trials)
    return abs(rate - Z2 / (n_eff + Z2))


def _kappa(newest: RunSeen, before: RunSeen) -> float | None:
    """Return how far two runs find the same cases hard, by cases that were asked the same."""
    both = [
        (case, old)
        for case_id, case in newest.cases.items()
        if (old := before.cases.get(case_id)) is not None
        and case.case_hash is not None
        and case.case_hash == old.case_hash
        and case.n_scored
        and old.n_scored
    ]
    if len(both) < FEWEST_CASES:
        return None
    return kappa_of(
        [old.n_passed for _, old in both],
        [old.n_scored for _, old in both],
        [case.n_passed for case, _ in both],
        [case.n_scored for case, _ in both],
    )

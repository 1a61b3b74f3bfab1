"""How small a difference a size of run can show, and which size a difference needs.

Two runs of a suite are made on two nights, as a rule, and then the nights count as well: each
answer is for two nights, and for two models (or runs) of one night beside it. Standard library
only: the collector plans with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

from analyze.stats.intervals import Z90, Z95
from analyze.stats.paired_rates import margin_at
from analyze.stats.power.assumptions import Assumptions
from analyze.stats.power.exact import MIN_EXACT_CASES, MIN_FORMULA_CASES, PairModel, exact_mde
from analyze.stats.power.nights import (
    MAX_CASES,
    cases_for_unchanged,
    fewest,
    fewest_between,
    interval_se,
    night_mde,
)
from schemas.config.project import Thresholds

REPETITIONS = (1, 3, 5, 10)
"""Columns of a table of sizes."""

USUAL_CASES = (20, 50, 100, 300, 1000)
"""Its rows where no suite is known."""

NOTHING_KNOWN = Assumptions()

TWO_NIGHTS = 2.0
"""Each run is one night: variances of so many nights are in their difference."""

MAX_REPETITIONS = 1_000_000
"""Repetitions that nobody makes: what they do not show, no number of them shows."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Answers for one model and one pair of limits; differences are shares (0.05 is 5 points)."""

    limits: Thresholds
    given: Assumptions = NOTHING_KNOWN
    nights: float = TWO_NIGHTS
    """1 / nights of the base + 1 / nights of the candidate."""

    @property
    def direction(self) -> Literal["drop", "rise"]:
        """What can be shown: a rate of 0 has nothing below it."""
        return "rise" if self.given.none_passed else "drop"

    @property
    def night_sd(self) -> float:
        """Standard deviation of one night that is planned with, as a share."""
        return math.sqrt(self._night_variance(0.0) / self.nights)

    @property
    def least_cases(self) -> int:
        """Cases below which no drop can be promised: n of n have a mid-p of 2^-n."""
        return max(math.ceil(-math.log2(self.limits.alpha)) + 1, MIN_EXACT_CASES)

    def smallest(
        self, n_cases: int, repetitions: float, *, same_night: bool = False
    ) -> float | None:
        """Return the smallest difference that two runs of a size show, None when they show none.

        Between two nights it is the larger one of what the test finds and of what the nights allow.
        """
        if n_cases < self.least_cases:
            return None
        repetitions = self.draws(repetitions)
        alpha, power = self.limits.alpha, self.limits.power
        if n_cases < MIN_FORMULA_CASES:
            found = exact_mde(n_cases, repetitions, self._model, alpha=alpha, power=power)
        else:
            found = self._model.formula(n_cases, repetitions, alpha, power)
        if same_night or found is None:
            return found
        of_nights = night_mde(
            n_cases,
            repetitions,
            self._model,
            self._night_variance,
            self.given.nights.df,
            alpha=alpha,
            power=power,
        )
        return None if of_nights is None else max(found, of_nights)

    def cases(
        self, difference: float, repetitions: float, *, same_night: bool = False
    ) -> int | None:
        """Return the fewest cases that show a difference.

        None when the rate has no such room, or nights vary too much for any number of cases.
        """
        if difference > self._model.p:
            return None

        def is_enough(n_cases: int) -> bool:
            found = self.smallest(n_cases, repetitions, same_night=same_night)
            return found is not None and found <= difference

        return fewest(is_enough, self.least_cases) if is_enough(MAX_CASES) else None

    def margin(self, margin: float) -> float:
        """Return the margin that a proof goes by, which is smaller near a rate of 0 or 1."""
        pair = self.given.pair
        return margin_at(self._model.p if pair is None else pair.base_rate, margin)

    def cases_unchanged(
        self, margin: float, repetitions: float, *, same_night: bool = False
    ) -> int | None:
        """Return the fewest cases that show that nothing changed by a margin, when nothing did.

        Where the last two runs were compared, it is their interval that is carried on: as if its
        limits had been reached with as many trials of each case as are asked for.
        """
        inside = self.margin(margin)
        z = Z90 if inside == margin else Z95
        return cases_for_unchanged(
            partial(self._carried_on, self.draws(repetitions), z),
            inside,
            z=z,
            night_variance=0.0 if same_night else self._night_variance(0.0),
            night_df=self.given.nights.df,
            power=self.limits.power,
        )

    def _carried_on(self, repetitions: float, z: float, n_cases: int) -> float:
        """Return the standard error of the difference at a size."""
        pair, model = self.given.pair, self._model
        if pair is None:
            return interval_se(n_cases, repetitions, model, 0.0)
        found = pair.interval
        low, high = (found.low90, found.high90) if z == Z90 else (found.low, found.high)
        shown = model.variance(0.0, self.draws(pair.repetitions))
        other = 1.0 if shown == 0 else model.variance(0.0, repetitions) / shown
        return (high - low) / 2 / z * math.sqrt(pair.n_cases / n_cases * other)

    def repetitions(self, difference: float, n_cases: int) -> int | None:
        """Return the fewest repetitions that show a difference; None when no number does."""

        def is_enough(repetitions: int) -> bool:
            found = self.smallest(n_cases, repetitions)
            return found is not None and found <= difference

        if is_enough(1):
            return 1
        return fewest_between(1, MAX_REPETITIONS, is_enough) if is_enough(MAX_REPETITIONS) else None

    @property
    def _model(self) -> PairModel:
        """A rise from p is shown where a drop from 1 - p is."""
        given = self.given
        start = 1 - given.pass_rate if given.none_passed else given.pass_rate
        return PairModel(start, given.rho, given.kappa)

    def draws(self, repetitions: float) -> float:
        """Return how many repetitions count: one where they never disagree."""
        return repetitions if self.given.repeating_helps else 1

    def _night_variance(self, drop: float) -> float:
        """Return what two nights add to the variance of the difference."""
        p = self._model.p
        worse = max(p - drop, 0.0)
        within = self.given.share_within * (p * (1 - p) + worse * (1 - worse)) / 2
        return self.nights * self.given.nights.variance(within)


@dataclass(frozen=True, slots=True)
class SizeAnswer:
    """What one size of a suite shows of a model, and how many cases a margin takes.

    The one answer of plans, the last words of a run, comparisons and gates.
    """

    n_cases: int | None
    """Scorable cases, or the clusters they are in; None where no suite is known."""
    repetitions: float
    """Trials of each that count: the harmonic mean where two sides have other numbers of them, and
    one where repeating shows nothing."""
    smallest: float | None
    """Difference that this size shows between nights."""
    smallest_same_night: float | None
    """The same within one night."""
    margin: float
    """That a proof of no change goes by: smaller near a rate of 0 or 1."""
    cases_unchanged: int | None
    """To show between nights, asked so often, that nothing changed by the margin."""
    cases_unchanged_same_night: int | None


def size_answer(
    given: Assumptions,
    limits: Thresholds,
    *,
    n_cases: int | None,
    repetitions: float,
    difference: float | None = None,
    nights: float = TWO_NIGHTS,
) -> SizeAnswer:
    """Return what a size shows of a model.

    Args:
        given: what is known of it.
        limits: alpha, power, and the margin that stands for `difference` unless it is given.
        n_cases: scorable cases; None where no suite is known.
        repetitions: of each case, at least 1.
        difference: as a share, above 0.
        nights: 1 / nights of the base + 1 / nights of the candidate.
    """
    planner = Planner(limits, given, nights)
    wanted = limits.pass_rate_margin if difference is None else difference
    n_units = None
    if n_cases is not None:
        n_units, repetitions = given.draws(n_cases, repetitions)

    def smallest(*, same_night: bool) -> float | None:
        if n_units is None:
            return None
        return planner.smallest(n_units, repetitions, same_night=same_night)

    return SizeAnswer(
        n_units,
        planner.draws(repetitions),
        smallest(same_night=False),
        smallest(same_night=True),
        planner.margin(wanted),
        planner.cases_unchanged(wanted, repetitions),
        planner.cases_unchanged(wanted, repetitions, same_night=True),
    )


@dataclass(frozen=True, slots=True)
class SizeRow:
    """One number of cases, and what it shows at each number of repetitions."""

    n_cases: int
    smallest: tuple[float | None, ...]
    """One for each of the plan's columns."""


@dataclass(frozen=True, slots=True)
class PowerPlan:
    """What one model, or several of which the same is known, can be shown to have lost."""

    model_ids: tuple[str, ...]
    given: Assumptions
    direction: Literal["drop", "rise"]
    n_cases: int | None
    """Scorable cases, or the clusters they are in; None where no suite is known."""
    repetitions: int
    """Trials of each."""
    difference: float
    """That sizes are wanted for."""
    smallest: float | None
    """Difference that `n_cases` x `repetitions` shows between two nights."""
    smallest_same_night: float | None
    """The same within one night."""
    night_sd: float
    """Standard deviation of one night, as a share; whether it was measured, `given.nights` says."""
    columns: tuple[int, ...]
    """Repetitions of all that is needed and of the table."""
    cases_needed: tuple[int | None, ...]
    """For `difference` between two nights, at each of the columns."""
    cases_needed_same_night: tuple[int | None, ...]
    margin: float
    """That stands for `difference` in a proof of no change: smaller near a rate of 0 or 1."""
    cases_unchanged: tuple[int | None, ...]
    """To show between two nights that nothing changed by `margin`."""
    cases_unchanged_same_night: tuple[int | None, ...]
    repetitions_needed: int | None
    """For `difference` between two nights, at `n_cases`; None when no number of them is enough."""
    table: tuple[SizeRow, ...]
    """Between two nights."""


def power_plan(
    model_ids: tuple[str, ...],
    given: Assumptions,
    limits: Thresholds,
    *,
    n_cases: int | None,
    repetitions: int,
    difference: float | None = None,
) -> PowerPlan:
    """Return what a size shows of a model and what a difference needs.

    The arguments are those of `size_answer`.
    """
    answer = size_answer(
        given, limits, n_cases=n_cases, repetitions=repetitions, difference=difference
    )
    if n_cases is not None:
        repetitions = int(given.draws(n_cases, repetitions)[1])
        n_cases = answer.n_cases
    planner = Planner(limits, given)
    wanted = limits.pass_rate_margin if difference is None else difference
    columns = tuple(sorted({*REPETITIONS, repetitions})) if given.repeating_helps else (1,)
    rows = USUAL_CASES if n_cases is None else _around(n_cases)
    return PowerPlan(
        model_ids,
        given,
        planner.direction,
        n_cases,
        repetitions,
        wanted,
        answer.smallest,
        answer.smallest_same_night,
        planner.night_sd,
        columns,
        tuple(planner.cases(wanted, count) for count in columns),
        tuple(planner.cases(wanted, count, same_night=True) for count in columns),
        answer.margin,
        tuple(planner.cases_unchanged(wanted, count) for count in columns),
        tuple(planner.cases_unchanged(wanted, count, same_night=True) for count in columns),
        None if n_cases is None else planner.repetitions(wanted, n_cases),
        tuple(
            SizeRow(count, tuple(planner.smallest(count, column) for column in columns))
            for count in rows
        ),
    )


def _around(n_cases: int) -> tuple[int, ...]:
    """Return half as many, as many, and two, four and ten times as many."""
    return tuple(sorted({max(n_cases // 2, 2), *(max(n_cases, 2) * k for k in (1, 2, 4, 10))}))

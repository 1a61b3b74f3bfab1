"""How small a difference a size of run can show, and which size a difference needs (S11).

The variance of `metrics.power` is a model: where cases hardly vary between two runs it comes near
zero, and would promise differences that no whole number of trials can make. The mean of a case
moves in steps of 1/m, so a mean difference of D has a variance of at least D/m - D^2: that bound
always holds. (At the assumptions that are made without history it decides below 17 cases x 1 only.)
Standard library only: the collector plans with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from analyze.metrics.assumptions import Assumptions
from analyze.metrics.power import cases_for_margin, planning_mde
from analyze.metrics.student import t_quantile
from schemas.thresholds import Thresholds

REPETITIONS = (1, 3, 5, 10)
"""Columns of a table of sizes."""

USUAL_CASES = (20, 50, 100, 300, 1000)
"""Its rows where no suite is known."""

NOTHING_KNOWN = Assumptions()

ENDLESS = 1_000_000
"""Repetitions that nobody makes: what they do not show, no number of them shows."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Answers for one model and one pair of limits; differences are shares (0.05 is 5 points)."""

    limits: Thresholds
    given: Assumptions = NOTHING_KNOWN

    @property
    def direction(self) -> Literal["drop", "rise"]:
        """What can be shown: a rate of 0 has nothing below it."""
        return "rise" if self.given.none_passed else "drop"

    @property
    def least_cases(self) -> int:
        """Cases that must differ before any can show a thing: n of n have a mid-p of 2^-n (S6)."""
        return max(math.ceil(-math.log2(self.limits.alpha)), 2)

    def smallest(self, n_cases: int, repetitions: int) -> float | None:
        """Return the smallest difference that two runs of a size show, None when they show none."""
        if n_cases < self.least_cases:
            return None
        repetitions = self._draws(repetitions)
        modelled = planning_mde(
            n_cases,
            repetitions,
            p=self._start,
            rho=self.given.rho,
            kappa=self.given.kappa,
            alpha=self.limits.alpha,
            power=self.limits.power,
        )
        if modelled is None:
            return None
        found = max(modelled, self._countable(n_cases, repetitions))
        return found if found <= self._start else None

    def cases(self, difference: float, repetitions: int) -> int | None:
        """Return the fewest cases that show a difference, None when the rate has no such room."""
        repetitions = self._draws(repetitions)
        modelled = cases_for_margin(
            difference,
            repetitions,
            p=self._start,
            rho=self.given.rho,
            kappa=self.given.kappa,
            alpha=self.limits.alpha,
            power=self.limits.power,
        )
        if modelled is None:
            return None
        few = max(modelled, self.least_cases)
        if self._countable(few, repetitions) <= difference:
            return few
        many = few * 2
        while self._countable(many, repetitions) > difference:
            few, many = many, many * 2
        while many - few > 1:
            middle = (few + many) // 2
            is_enough = self._countable(middle, repetitions) <= difference
            few, many = (few, middle) if is_enough else (middle, many)
        return many

    def repetitions(self, difference: float, n_cases: int) -> int | None:
        """Return the fewest repetitions that show a difference; None when no number does."""

        def is_enough(repetitions: int) -> bool:
            found = self.smallest(n_cases, repetitions)
            return found is not None and found <= difference

        if is_enough(1):
            return 1
        if not is_enough(ENDLESS):
            return None
        few, many = 1, ENDLESS
        while many - few > 1:
            middle = (few + many) // 2
            few, many = (few, middle) if is_enough(middle) else (middle, many)
        return many

    @property
    def _start(self) -> float:
        """A rise from p is shown where a drop from 1 - p is."""
        return 1 - self.given.pass_rate if self.given.none_passed else self.given.pass_rate

    def _draws(self, repetitions: int) -> int:
        return repetitions if self.given.repeating_helps else 1

    def _countable(self, n_cases: int, repetitions: int) -> float:
        """Return the D that solves D = t * sqrt((D/m - D^2) / n): whole trials make no smaller."""
        df = n_cases - 1
        t2 = (t_quantile(1 - self.limits.alpha / 2, df) + t_quantile(self.limits.power, df)) ** 2
        return t2 / (repetitions * (n_cases + t2))


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
    """Scorable cases; None where no suite is known."""
    repetitions: int
    difference: float
    """That sizes are wanted for."""
    smallest: float | None
    """Difference that `n_cases` x `repetitions` shows."""
    columns: tuple[int, ...]
    """Repetitions of `cases_needed` and of the table."""
    cases_needed: tuple[int | None, ...]
    """For `difference`, at each of the columns."""
    repetitions_needed: int | None
    """For `difference`, at `n_cases`; None when no number of them is enough."""
    table: tuple[SizeRow, ...]


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

    Args:
        model_ids: whom it is about.
        given: what is known of them.
        limits: alpha, power, and the margin that stands for `difference` unless it is given.
        n_cases: scorable cases; None where no suite is known.
        repetitions: of each case, at least 1.
        difference: as a share, above 0.
    """
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
        None if n_cases is None else planner.smallest(n_cases, repetitions),
        columns,
        tuple(planner.cases(wanted, count) for count in columns),
        None if n_cases is None else planner.repetitions(wanted, n_cases),
        tuple(
            SizeRow(count, tuple(planner.smallest(count, column) for column in columns))
            for count in rows
        ),
    )


def _around(n_cases: int) -> tuple[int, ...]:
    """Return half as many, as many, and two, four and ten times as many."""
    return tuple(sorted({max(n_cases // 2, 2), *(max(n_cases, 2) * k for k in (1, 2, 4, 10))}))

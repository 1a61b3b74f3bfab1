"""What a trial costs, and `--max-cost`: no trial begins that could take the run above its limit.

A trial reserves its highest possible cost before it starts; its actual cost then replaces the
reservation. An answer of unknown cost keeps its reservation, to be on the safe side. What nothing
bounds (no `max_tokens`, or tools, with which nobody knows how often a model asks) reserves what the
dearest trial so far did cost; as long as none has a cost that can be told, one is all that is made.
Failed attempts that a provider bills without reporting them cannot be counted.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from datetime import date
from typing import NamedTuple

from collect.config import LoadedCase, ResolvedModel, RunInputs
from collect.limits import Slot
from collect.plan.estimate import most_of_trial, price_of
from collect.runners.base import Execution
from schemas.config.prices import NANO, Price
from schemas.errors import ConfigError, Problem
from schemas.run.config import PlannedTrial

ASSUMED = re.compile(r"(\d{1,5}(?:\.\d{1,6})?)/(\d{1,5}(?:\.\d{1,6})?)", re.ASCII)


def parse_assumed(text: str, on_date: date) -> Price:
    """Return `IN/OUT`, US dollars per million tokens, as a price.

    Raises:
        ConfigError: it is not two numbers.
    """
    match = ASSUMED.fullmatch(text)
    if match is None:
        allowed = "IN/OUT in US dollars per million tokens, such as 0.15/0.60"
        problem = Problem(None, "--assume-price", found=f"`{text}`", allowed=allowed)
        raise ConfigError([problem])
    return Price(
        model="--assume-price",
        valid_from=on_date,
        input_usd_per_million=float(match[1]),
        output_usd_per_million=float(match[2]),
    )


def with_prices(inputs: RunInputs, on_date: date, assumed: Price | None) -> RunInputs:
    """Return the inputs with each model's price on a day; `assumed` stands in for missing ones."""
    models = tuple(
        replace(model, price=price_of(model, inputs.project.prices, on_date) or assumed)
        for model in inputs.models
    )
    return replace(inputs, models=models)


def refuse_unpriced(models: tuple[ResolvedModel, ...]) -> None:
    """Refuse a cost limit for models of which nobody knows what they cost.

    Raises:
        ConfigError: naming each of them.
    """
    advice = "add it to `prices` in benchlake.yaml, or give --assume-price IN/OUT (0/0 is free)"
    problems = [
        Problem(
            None,
            f"--max-cost: model `{model.model_id}` has no price",
            found=f"`{model.model}` at {model.base_url}",
            advice=advice,
        )
        for model in models
        if model.price is None
    ]
    if problems:
        raise ConfigError(problems)


def cost_of(execution: Execution, price: Price | None) -> int | None:
    """Return what a trial did cost, in nano-dollars: as the server says, else by its price.

    None when it cannot be told, or when no request was made.
    """
    outcome, usage = execution.outcome, execution.outcome.usage
    if execution.attempt_count == 0:
        return None
    if outcome.cost_usd is not None:
        return round(outcome.cost_usd * NANO)
    return usage.cost_nano_usd(price)


class BudgetNeed(NamedTuple):
    """How it stands with the money of one process, in nano-dollars."""

    spent: int
    reserved: int
    required: int
    """What it must be allowed in all before the next trial begins; 0: none waits for money."""
    widest: int
    """The most that a trial did reserve."""


class Budget:
    """What a run has spent and promised, in nano-dollars.

    Args:
        max_usd: what the run may cost; None: anything.
        models: with their prices.
        spent_usd: what earlier parts of the run did cost.
        granted: the limit is that of several processes: this one may spend what it is granted,
            bit by bit, and waits for more.
    """

    def __init__(
        self,
        max_usd: float | None,
        models: tuple[ResolvedModel, ...],
        spent_usd: float = 0.0,
        *,
        granted: bool = False,
    ) -> None:
        self._cap = None if max_usd is None else 0 if granted else round(max_usd * NANO)
        self._may_grow = granted
        self._lacking: list[int] = []
        """What those who wait for money want to reserve."""
        self._widest = 0
        self._models = {model.model_id: model for model in models}
        self._spent = round(spent_usd * NANO)
        self._reserved = 0
        self._in_flight = 0
        self._dearest = 0
        self._is_untold = False
        """An answer that nothing bounded did cost nobody knows what."""
        self._changed = asyncio.Event()

    @property
    def need(self) -> BudgetNeed:
        """Return how it stands with the money of a process that is granted some."""
        required = self._spent + self._reserved + max(min(self._lacking), 1) if self._lacking else 0
        return BudgetNeed(self._spent, self._reserved, required, self._widest)

    def grant(self, nano: int, *, is_last: bool) -> None:
        """Let it spend so much in all; the last grant is the end of waiting."""
        if self._cap is not None:
            self._cap = max(self._cap, nano)
            self._may_grow = not is_last
            self._changed.set()

    def close(self) -> None:
        """Wait for no more grants: nothing more is dispatched."""
        self._may_grow = False
        self._changed.set()

    async def reserve(self, trial: PlannedTrial, case: LoadedCase, slot: Slot) -> int | None:
        """Return what is reserved for a trial, or None when it no longer fits.

        Waits while trials in flight may still turn out cheaper than feared; without the slot,
        which one of them may need for a retry.
        """
        if self._cap is None:
            return 0
        return await self.reserve_up_to(most_of_trial(self._models[trial.model_id], case), slot)

    async def reserve_up_to(self, most: int | None, slot: Slot) -> int | None:
        """Return what is reserved for work that costs at most so much; None: nothing bounds it.

        See `reserve`.
        """
        if self._cap is None:
            return 0
        while True:
            wanted = self._dearest if most is None else most
            self._widest = max(self._widest, wanted)
            promised = self._spent + self._reserved
            # Without any bound, one trial alone shows what they cost, or that nobody can tell.
            is_begun = self._in_flight > 0 or self._is_untold
            is_blind = most is None and not self._dearest and is_begun
            is_spent = wanted > 0 and self._spent >= self._cap
            if not is_blind and not is_spent and promised + wanted <= self._cap:
                self._reserved += wanted
                self._in_flight += 1
                await slot.take()
                return wanted
            if not self._in_flight and not self._may_grow:
                return None
            slot.leave()
            self._changed.clear()
            self._lacking.append(wanted)
            try:
                await self._changed.wait()
            finally:
                self._lacking.remove(wanted)

    def release(self, reserved: int) -> None:
        """Give back what was reserved for a trial that is not asked after all."""
        if self._cap is None:
            return
        self._reserved -= reserved
        self._in_flight -= 1
        self._changed.set()

    def settle(self, reserved: int, execution: Execution, price: Price | None) -> None:
        """Replace a reservation by what the trial did cost, where that can be told."""
        if self._cap is None:
            return
        known = cost_of(execution, price) if execution.attempt_count else 0
        cost = reserved if known is None else known
        model = self._models[execution.trial.model_id]
        if known is None and not reserved and most_of_trial(model, execution.case) is None:
            failure = execution.outcome.failure
            self._is_untold |= failure is None or failure.availability_status == "ok"
        self._dearest = max(self._dearest, cost)
        self.charge(reserved, cost)

    def charge(self, reserved: int, cost: int) -> None:
        """Replace a reservation by what the work did cost."""
        if self._cap is None:
            return
        self._spent += cost
        self.release(reserved)

"""`--max-cost`: no trial begins that could take the run above what it may cost.

A trial reserves what it may cost before it is asked; the reservation gives way to what it did
cost. An answer whose cost cannot be told keeps its reservation, which is the careful side. Failed
attempts that a provider bills without saying so are not known to anybody here.
"""

from __future__ import annotations

import asyncio

from collect.config import LoadedCase, ResolvedModel
from collect.execute.pricing import cost_of
from collect.limits.concurrency import Place
from collect.plan.estimate import most_of_trial
from collect.runners.base import Execution
from schemas.config.prices import NANO, Price
from schemas.run.plan import PlannedTrial


class Budget:
    """What a run has spent and promised, in nano-dollars.

    Args:
        max_usd: what the run may cost; None: anything.
        models: with their prices.
        spent_usd: what earlier parts of the run did cost.
    """

    def __init__(
        self, max_usd: float | None, models: tuple[ResolvedModel, ...], spent_usd: float = 0.0
    ) -> None:
        self._cap = None if max_usd is None else round(max_usd * NANO)
        self._models = {model.model_id: model for model in models}
        self._spent = round(spent_usd * NANO)
        self._reserved = 0
        self._in_flight = 0
        self._dearest = 0
        self._changed = asyncio.Event()

    async def reserve(self, trial: PlannedTrial, case: LoadedCase, place: Place) -> int | None:
        """Return what is reserved for a trial, or None when it no longer fits.

        Waits while trials in flight may still turn out cheaper than feared; without the place,
        which one of them may need for a retry.
        """
        if self._cap is None:
            return 0
        most = most_of_trial(self._models[trial.model_id], case)
        while True:
            wanted = self._dearest if most is None else most
            promised = self._spent + self._reserved
            # Without any bound, one trial alone shows what they cost.
            is_blind = most is None and not self._dearest and self._in_flight > 0
            is_spent = wanted > 0 and self._spent >= self._cap
            if not is_blind and not is_spent and promised + wanted <= self._cap:
                self._reserved += wanted
                self._in_flight += 1
                await place.take()
                return wanted
            if not self._in_flight:
                return None
            place.leave()
            self._changed.clear()
            await self._changed.wait()

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
        self._reserved -= reserved
        self._in_flight -= 1
        self._spent += cost
        self._dearest = max(self._dearest, cost)
        self._changed.set()

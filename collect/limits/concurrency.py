"""Who may ask a model, and when: its own limit, the run's limit, its pace (D-E6).

A trial holds a slot while it is asked and gives it up while it waits for a retry or for its turn
in the minute, so that one server's limits never slow another. A model that answers 429 too often
gets fewer slots, and more again once the server keeps up; when it says how long to stay away,
nobody asks it before.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable

from collect.limits.share import Share
from collect.providers.base import Reply

MIN_ROUND_ANSWERS = 8
"""Answers after which the limit is looked at again, at least; else as many as it allows."""

MAX_REFUSED_SHARE = 0.05
"""Share of 429 that is no reason to slow down: the retries mend it. Few answers prove little."""

MAX_HOLD_S = 120.0
"""A server that asks for more is not waited for: its trials fail, and can be resumed."""

GROWTH = 0.1
"""By how much of itself a limit grows again after a round that kept up."""

PAUSE_S = 0.25
"""Until a request that may not begin looks again whether it may."""


class Stopped(Exception):
    """The run was stopped while a trial waited: it was not asked, and is left undone."""


class Gate:
    """Room for so many at once, given in the order of asking; how many may change."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        """Return how many there is room for."""
        return self._limit

    @property
    def is_within(self) -> bool:
        """Return whether no more have room than there is room for now."""
        return self._taken <= self._limit

    def resize(self, limit: int) -> None:
        """Make room for more, or for fewer: who has room keeps it."""
        self._limit = limit
        self._grant()

    async def take(self) -> None:
        """Wait for room; what was granted to somebody who is gone is handed on."""
        if self._taken < self._limit and not self._waiting:
            self._taken += 1
            return
        granted = asyncio.get_running_loop().create_future()
        self._waiting.append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.give()
            raise

    def give(self) -> None:
        """Give room back."""
        self._taken -= 1
        self._grant()

    def _grant(self) -> None:
        while self._waiting and self._taken < self._limit:
            granted = self._waiting.popleft()
            if not granted.done():
                self._taken += 1
                granted.set_result(None)


class SharedGate(Gate):
    """Room for this process's part of a limit."""

    def __init__(self, limit: int, share: Share) -> None:
        super().__init__(share.of(limit))
        self._whole, self._share = limit, share
        self._is_closed = False
        share.join(self)

    def divide(self) -> None:
        """Keep to the part as it is now."""
        if not self._is_closed:
            self.resize(self._share.of(self._whole))

    def close(self) -> None:
        """Keep nobody waiting, since nobody asks any more."""
        self._is_closed = True
        self.resize(self._whole)


class Limiter:
    """Places for one model's trials.

    Args:
        slots: of the whole run, shared by all models.
        limit: slots of this model at most.
        per_minute: requests that may begin in a minute, evenly spaced; None: any number.
        share: the part of both that this process has.
        on_shrink: told the new limit when 429s make it smaller.
        on_room: told when a trial gives up its slot for a while, so that another may have it.
        on_reply: told how each request went, before anybody waits for the next.
    """

    def __init__(
        self,
        slots: Gate,
        limit: int,
        per_minute: int | None = None,
        on_shrink: Callable[[int], None] = lambda _: None,
        on_room: Callable[[], None] = lambda: None,
        *,
        share: Share | None = None,
        on_reply: Callable[[Reply], None] = lambda _: None,
    ) -> None:
        self._share = share or Share()
        self._slots = slots
        self._whole, self._per_minute = limit, per_minute
        self._most = self._share.of(limit)
        self._limit = float(limit)
        """Never below one, so that it can grow again."""
        self._gate = Gate(self.limit)
        self._spacing_s = 0.0
        self._next_at = 0.0
        self._held_until = 0.0
        self._on_shrink = on_shrink
        self._on_room = on_room
        self._on_reply = on_reply
        self._sleepers: set[asyncio.Future[None]] = set()
        self._is_closed = False
        self._asked = 0
        self._refused = 0
        self.divide()
        self._share.join(self)

    @property
    def limit(self) -> int:
        """Return how many trials may be asked at once at the moment."""
        return min(int(self._limit), self._most)

    @property
    def is_within(self) -> bool:
        """Return whether no more trials have a slot than may have one now."""
        return self._gate.is_within

    def divide(self) -> None:
        """Keep to the part of the limits that this process has now."""
        if self._is_closed:
            return
        was_open = self._limit >= self._most
        self._most = self._share.of(self._whole)
        if was_open:
            self._limit = float(max(self._most, 1))
        pace = self._share.pace_of(self._per_minute or 0.0)
        self._spacing_s = 60.0 / pace if pace else 0.0
        self._gate.resize(self.limit)

    async def enter(self) -> Slot:
        """Take a slot, of the model and of the run."""
        slot = Slot(self)
        await slot.take()
        return slot

    async def take(self) -> None:
        """Wait for a slot of the model and then for one of the run."""
        await self._gate.take()
        try:
            await self._slots.take()
        except asyncio.CancelledError:
            self._gate.give()
            raise

    def give(self) -> None:
        """Give a slot back."""
        self._slots.give()
        self._gate.give()

    def pace(self) -> float:
        """Return the seconds until the next request may begin, which is then taken."""
        if self._share.is_nothing:
            return PAUSE_S
        now = time.monotonic()
        at = max(now, self._next_at, self._held_until)
        if self._spacing_s:
            self._next_at = at + self._spacing_s
        return at - now

    @property
    def is_held(self) -> bool:
        """Return whether the server has asked us to stay away, or there is no share."""
        return self._share.is_nothing or time.monotonic() < self._held_until

    async def sleep(self, seconds: float) -> None:
        """Wait without a slot.

        Raises:
            Stopped: the limiter was closed.
        """
        self.check_open()
        self._on_room()
        loop = asyncio.get_running_loop()
        awake = loop.create_future()
        self._sleepers.add(awake)
        timer = loop.call_later(seconds, _wake, awake)
        try:
            await awake
        finally:
            timer.cancel()
            self._sleepers.discard(awake)

    def check_open(self) -> None:
        """Go on only while the run does.

        Raises:
            Stopped: the limiter was closed.
        """
        if self._is_closed:
            raise Stopped

    def close(self) -> None:
        """Let nobody wait any longer: who is not being asked will not be."""
        self._is_closed = True
        self._gate.resize(self._whole)
        for awake in self._sleepers:
            if not awake.done():
                awake.set_exception(Stopped())

    def learn(self, reply: Reply) -> None:
        """Take one answer in; a round with too many 429 costs slots, another gives some back."""
        self._on_reply(reply)
        self._asked += 1
        if reply.failure_type == "http_429":
            self._refused += 1
            if reply.retry_after_s and _too_many(self._refused, self._asked):
                wait = min(reply.retry_after_s, MAX_HOLD_S)
                self._held_until = max(self._held_until, time.monotonic() + wait)
        if self._asked < max(MIN_ROUND_ANSWERS, self.limit):
            return
        too_many, share = _too_many(self._refused, self._asked), self._refused / self._asked
        self._asked = self._refused = 0
        if too_many:
            before = self.limit
            self._limit = max(1.0, min(self._limit, self._most) * max(0.5, 1 - share))
            self._gate.resize(self.limit)
            if self.limit < before:
                self._on_shrink(self.limit)
        elif self._limit < self._most:
            self._limit = min(float(self._most), self._limit + max(1.0, GROWTH * self._limit))
            self._gate.resize(self.limit)


class Slot:
    """One trial's slot at a limiter."""

    __slots__ = ("_held", "_limiter")

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._held = False

    async def take(self) -> None:
        """Wait until there is room; again does nothing."""
        if not self._held:
            await self._limiter.take()
            self._held = True

    def leave(self) -> None:
        """Give the slot back; again does nothing."""
        if self._held:
            self._held = False
            self._limiter.give()

    async def before_request(self) -> None:
        """Keep to the model's pace; somebody else may have the slot meanwhile."""
        while (wait := self._limiter.pace()) > 0:
            await self.back_off(wait)
            if not self._limiter.is_held:  # its moment has come, unless a 429 came first
                return

    async def keep_pace(self) -> None:
        """Keep to the model's pace in the middle of a trial.

        The slot is kept, and the trial goes on where the run was stopped: it is under way.
        """
        while (wait := self._limiter.pace()) > 0:
            await asyncio.sleep(wait)
            if not self._limiter.is_held:
                return

    def learn(self, reply: Reply) -> None:
        """Tell the limiter how a request went."""
        self._limiter.learn(reply)

    async def back_off(self, seconds: float) -> None:
        """Wait before a request; somebody else may have the slot meanwhile.

        Raises:
            Stopped: the run was stopped meanwhile.
        """
        self.leave()
        await self._limiter.sleep(seconds)
        await self.take()
        self._limiter.check_open()


def _too_many(refused: int, asked: int) -> bool:
    """Return whether 429s are more than the tolerated share and two standard deviations of it."""
    tolerated = MAX_REFUSED_SHARE * asked
    return refused > max(2.0, tolerated + 2 * math.sqrt(tolerated))


def _wake(awake: asyncio.Future[None]) -> None:
    if not awake.done():
        awake.set_result(None)

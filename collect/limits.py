"""Who may ask a model, and when: its own limit, the run's limit, its pace, its retries (D-E6).

A trial holds a slot while it is asked and gives it up while it waits for a retry or for its turn
in the minute, so that one server's limits never slow another. A model that answers 429 too often
gets fewer slots, and more again once the server keeps up; when it says how long to stay away,
nobody asks it before.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable

from collect.providers.base import Reply

MIN_ROUND_ANSWERS = 8
"""Answers after which the limit is looked at again, at least; else as many as it allows."""

MAX_REFUSED_SHARE = 0.05
"""Share of 429 that is no reason to slow down: the retries mend it. Few answers prove little."""

MAX_HOLD_S = 120.0
"""A server that asks for more is not waited for: its trials fail, and can be resumed."""

GROWTH = 0.1
"""By how much of itself a limit grows again after a round that kept up."""

BACKOFF_S = 0.2
"""First wait; each further one is three times as long, with jitter of half of it either way."""

MAX_BACKOFF_S = 30.0


class Stopped(Exception):
    """The run was stopped while a trial waited: it was not asked, and is left undone."""


class Limiter:
    """Places for one model's trials.

    Args:
        slots: of the whole run, shared by all models.
        limit: slots of this model at most.
        per_minute: requests that may begin in a minute, evenly spaced; None: any number.
        on_shrink: told the new limit when 429s make it smaller.
        on_room: told when a trial gives up its slot for a while, so that another may have it.
        on_reply: told how each request went, before anybody waits for the next.
    """

    def __init__(
        self,
        slots: asyncio.Semaphore,
        limit: int,
        per_minute: int | None = None,
        on_shrink: Callable[[int], None] = lambda _: None,
        on_room: Callable[[], None] = lambda: None,
        *,
        on_reply: Callable[[Reply], None] = lambda _: None,
    ) -> None:
        self._slots = slots
        self._most = limit
        self._limit = float(limit)
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._spacing_s = 0.0 if per_minute is None else 60.0 / per_minute
        self._next_at = 0.0
        self._held_until = 0.0
        self._on_shrink = on_shrink
        self._on_room = on_room
        self._on_reply = on_reply
        self._sleepers: set[asyncio.Future[None]] = set()
        self._is_closed = False
        self._asked = 0
        self._refused = 0

    @property
    def limit(self) -> int:
        """Return how many trials may be asked at once at the moment."""
        return int(self._limit)

    async def enter(self) -> Slot:
        """Take a slot, of the model and of the run."""
        slot = Slot(self)
        await slot.take()
        return slot

    async def take(self) -> None:
        """Wait for a slot; what was granted to somebody who is gone is handed on."""
        if self._taken < self.limit and not self._waiting:
            self._taken += 1
        else:
            granted = asyncio.get_running_loop().create_future()
            self._waiting.append(granted)
            try:
                await granted
            except asyncio.CancelledError:
                if granted.done() and not granted.cancelled():
                    self._give_back()
                raise
        try:
            await self._slots.acquire()
        except asyncio.CancelledError:
            self._give_back()
            raise

    def give(self) -> None:
        """Give a slot back."""
        self._slots.release()
        self._give_back()

    def _give_back(self) -> None:
        self._taken -= 1
        self._grant()

    def _grant(self) -> None:
        while self._waiting and self._taken < self.limit:
            granted = self._waiting.popleft()
            if not granted.done():
                self._taken += 1
                granted.set_result(None)

    def pace(self) -> float:
        """Return the seconds until the next request may begin, which is then taken."""
        now = time.monotonic()
        at = max(now, self._next_at, self._held_until)
        if self._spacing_s:
            self._next_at = at + self._spacing_s
        return at - now

    @property
    def is_held(self) -> bool:
        """Return whether the server has asked us to stay away."""
        return time.monotonic() < self._held_until

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
            self._limit = max(1.0, self._limit * max(0.5, 1 - share))
            if self.limit < before:
                self._on_shrink(self.limit)
        elif self._limit < self._most:
            self._limit = min(float(self._most), self._limit + max(1.0, GROWTH * self._limit))
            self._grant()


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


def wait_before(attempt: int, reply: Reply) -> float | None:
    """Return the seconds to wait after a failed attempt, or None when repeating is no use.

    Args:
        attempt: number of the attempt that failed, from 1.
        reply: how it failed; a Retry-After of the server is honoured to the letter.
    """
    if reply.failure is None or not reply.failure.retryable:
        return None
    if reply.retry_after_s is not None:
        return None if reply.retry_after_s > MAX_HOLD_S else reply.retry_after_s
    longest: float = min(MAX_BACKOFF_S, BACKOFF_S * 3 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.5)  # noqa: S311 - jitter, not a secret


async def with_retries(
    ask: Callable[[], Awaitable[Reply]],
    slot: Slot,
    retries: int,
    on_retry: Callable[[int, Reply, float], None],
) -> tuple[Reply, int]:
    """Ask until a reply is usable or not worth repeating; return it and the requests made.

    Args:
        ask: makes one request.
        slot: of the trial; given up while it waits.
        retries: repeats allowed after the first request.
        on_retry: told (attempt, its reply, seconds of the wait) before each wait.
    """
    attempt, requests = 1, 0
    while True:
        await slot.before_request()
        reply = await ask()
        requests += reply.requests
        slot.learn(reply)
        wait = wait_before(attempt, reply) if attempt <= retries else None
        if wait is None:
            return reply, requests
        on_retry(attempt, reply, wait)
        await slot.back_off(wait)
        attempt += 1

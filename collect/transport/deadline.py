"""The end of a request's time, which comes only once all that has arrived is read.

A collector that was stopped, suspended or overloaded wakes up to deadlines that have passed and to
sockets that nobody has read. An event loop sees to the deadlines first, and answers that were there
in time would look as if they never came.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

from collect.http_client.exchange import Exchange

QUIET_PASSES = 10
"""Passes of the event loop, each with a look at every socket, that bring nothing more."""

MOST_PASSES = 1_000
"""Passes in all: a server that never ends its answer has to stop somewhere."""


class Deadline:
    """Ends an exchange that takes too long, as `asyncio.timeout` does.

    Args:
        seconds: from the moment it is entered; None: no end.
        exchange: fills while there is something to read.

    Raises:
        TimeoutError: at its exit, when the time was up.
    """

    def __init__(self, seconds: float | None, exchange: Exchange) -> None:
        self._seconds = seconds
        self._exchange = exchange
        self._loop = asyncio.get_running_loop()
        self._limit = asyncio.timeout(None)
        self._next: asyncio.Handle | None = None
        self._before: tuple[int, int] | None = None
        self._passes = self._quiet = 0

    async def __aenter__(self) -> None:
        await self._limit.__aenter__()
        if self._seconds is not None:
            self._next = self._loop.call_later(self._seconds, self._look)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._next is not None:
            self._next.cancel()
        await self._limit.__aexit__(kind, error, traceback)

    def _look(self) -> None:
        """End the exchange, unless the last pass brought something."""
        now = self._exchange.status, self._exchange.size
        self._quiet = self._quiet + 1 if now == self._before else 0
        self._before = now
        self._passes += 1
        if self._quiet >= QUIET_PASSES or self._passes >= MOST_PASSES:
            self._next = None
            self._limit.reschedule(self._loop.time())
        else:
            self._next = self._loop.call_soon(self._look)

"""One finished answer per pass of the event loop.

When many answers arrive together, judging and writing them in one go would keep the loop from
the sockets, and the answers that arrive meanwhile would look late. Between two turns the loop
looks at its sockets, so that bytes are stamped when they come.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Turns:
    """Wakes those who wait one at a time, in the order they came."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[asyncio.Future[None], Exception | None]] = deque()
        self._moving = False

    def wake(self, waiting: asyncio.Future[None], wrong: Exception | None = None) -> None:
        """Finish a future when its turn has come, with an exception if there is one."""
        self._waiting.append((waiting, wrong))
        if not self._moving:
            self._moving = True
            loop = waiting.get_loop()
            loop.call_soon(self._next, loop)

    async def mine(self) -> None:
        """Wait for the next turn."""
        turn = asyncio.get_running_loop().create_future()
        self.wake(turn)
        await turn

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            waiting, wrong = self._waiting.popleft()
            if waiting.done():  # whoever waited has gone
                continue
            if wrong is None:
                waiting.set_result(None)
            else:
                waiting.set_exception(wrong)
            loop.call_soon(self._next, loop)
            return
        self._moving = False

"""How late the collector's own event loop is: latency that we may have made ourselves.

A tick every 50 ms says when it should have come and when it came. A trial during which a tick
was late has a latency that cannot be told from ours, and its row says by how much.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left

TICK_S = 0.05
WORTH_NOTING_S = 0.001


class LoopClock:
    """Notes late ticks while it runs."""

    def __init__(self) -> None:
        self._at: list[float] = []
        self._late: list[float] = []
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> LoopClock:
        """Begin to tick."""
        self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop ticking."""
        if self._task is not None:
            self._task.cancel()

    async def _tick(self) -> None:
        while True:
            due = time.perf_counter() + TICK_S
            await asyncio.sleep(TICK_S)
            now = time.perf_counter()
            if now - due > WORTH_NOTING_S:
                self._at.append(now)
                self._late.append(now - due)

    def worst_since(self, began: float) -> int:
        """Return the worst lateness in whole ms since a moment of `time.perf_counter`."""
        return round(1000 * max(self._late[bisect_left(self._at, began) :], default=0.0))

"""How late the collector's own event loop is: latency that we may have made ourselves.

A tick every 50 ms says when it should have come and when it came. A trial during which a tick was
late has a latency that cannot be told from ours, and its row says by how much. A process that was
stopped, or a machine that slept, is late as well.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left

TICK_S = 0.05
WORTH_NOTING_S = 0.001


def boot_clock_s() -> float:
    """Return seconds of a clock that goes on while the machine sleeps, where there is one."""
    if hasattr(time, "CLOCK_BOOTTIME"):  # Linux
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    if hasattr(time, "CLOCK_MONOTONIC"):  # on macOS it counts sleep, unlike perf_counter
        return time.clock_gettime(time.CLOCK_MONOTONIC)
    return time.perf_counter()


class LoopClock:
    """Notes late ticks while it runs."""

    def __init__(self) -> None:
        self._at: list[float] = []
        self._late: list[float] = []
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> LoopClock:
        self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _tick(self) -> None:
        while True:
            due = boot_clock_s() + TICK_S
            await asyncio.sleep(TICK_S)
            late = boot_clock_s() - due
            if late > WORTH_NOTING_S:
                self._at.append(time.perf_counter())
                self._late.append(late)

    def worst_since(self, began: float) -> int:
        """Return the worst lateness in whole ms since a moment of `time.perf_counter`."""
        return round(1000 * max(self._late[bisect_left(self._at, began) :], default=0.0))

    def stood_still_since(self, began: float) -> float:
        """Return for how many seconds the loop did nothing at all since such a moment.

        What is shorter than a tick is the usual lateness of a busy loop, and in none of it.
        """
        late = self._late[bisect_left(self._at, began) :]
        return sum(one for one in late if one >= TICK_S)

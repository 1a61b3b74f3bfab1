"""Wakes an event loop at a given nanosecond.

The timers of event loops count whole milliseconds, which is as much as some of our budgets allow.
On Linux a timerfd is exact to some 50 microseconds; elsewhere the loop's own timer has to do.
"""

from __future__ import annotations

import asyncio
import ctypes
import heapq
import os
import sys
import time
from collections.abc import Callable
from itertools import count

CLOCK_MONOTONIC = 1
TFD_TIMER_ABSTIME = 1
SECOND = 1_000_000_000


class _TimerSpec(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "at_s", "at_ns")]


class Alarm:
    """A queue of calls, each made as soon as its moment has come and never before it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: list[tuple[int, int, Callable[[int], None]]] = []
        self._order = count()
        self._set_for = 0
        self._timer: asyncio.TimerHandle | None = None
        self._fd = -1
        if sys.platform == "linux":
            self._libc = ctypes.CDLL(None, use_errno=True)
            self._spec = _TimerSpec(0, 0, 0, 0)
            self._fd = self._libc.timerfd_create(CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
            loop.add_reader(self._fd, self._ring)

    def at(self, due_ns: int, call: Callable[[int], None]) -> None:
        """Call back with `due_ns` at that moment of `time.monotonic_ns`."""
        heapq.heappush(self._queue, (due_ns, next(self._order), call))
        if not self._set_for or due_ns < self._set_for:
            self._set(due_ns)

    def _set(self, due_ns: int) -> None:
        self._set_for = due_ns
        if self._fd >= 0:
            self._spec.at_s, self._spec.at_ns = divmod(due_ns, SECOND)
            self._libc.timerfd_settime(self._fd, TFD_TIMER_ABSTIME, ctypes.byref(self._spec), None)
            return
        if self._timer is not None:
            self._timer.cancel()
        wait_s = max(0, due_ns - time.monotonic_ns()) / SECOND
        self._timer = self._loop.call_later(wait_s, self._ring)

    def _ring(self) -> None:
        if self._fd >= 0:
            try:
                os.read(self._fd, 8)
            except BlockingIOError:
                return  # it was set anew after it had rung
        self._set_for = 0
        queue = self._queue
        while queue and queue[0][0] <= time.monotonic_ns():
            due_ns, _, call = heapq.heappop(queue)
            call(due_ns)
        if queue:
            self._set(queue[0][0])

"""Ctrl-C and SIGTERM on a loop: once to finish what is in flight, twice to end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

SIGNALS = (signal.SIGINT, signal.SIGTERM)

GRACE_S = 10.0
"""How long trials in flight may take to finish after the first interrupt."""

INTERRUPTED = "interrupted"
"""The stop reason of Ctrl-C and SIGTERM."""


class Interrupts:
    """Counts interrupts while it is entered and says them on.

    Before `watch` is called there is nothing to finish, and the first interrupt cancels the task
    that entered.
    """

    def __init__(self) -> None:
        self.count = 0
        self._task: asyncio.Task[object] | None = None
        self._listens: list[signal.Signals] = []
        self._first: Callable[[], None] | None = None
        self._again: Callable[[], None] | None = None

    def __enter__(self) -> Interrupts:
        loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._listens = [*SIGNALS]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as `nohup` leaves it
            self._listens.append(signal.SIGHUP)
        for number in self._listens:
            loop.add_signal_handler(number, self.interrupt)
        return self

    def interrupt(self) -> None:
        """Do what Ctrl-C does."""
        self.count += 1
        if self._first is None or self._again is None:
            if self._task is not None:
                self._task.cancel()
        elif self.count == 1:
            self._first()
        else:
            self._again()

    def watch(self, first: Callable[[], None], again: Callable[[], None]) -> None:
        """From now on call `first` for the first interrupt, and `again` for each further one."""
        self._first, self._again = first, again

    def __exit__(self, *_: object) -> None:
        """Leave the signals as they were."""
        loop = asyncio.get_running_loop()
        for number in self._listens:
            loop.remove_signal_handler(number)

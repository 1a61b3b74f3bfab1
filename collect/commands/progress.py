"""How far long work is, now and then, where it does not disturb what a command prints."""

from __future__ import annotations

import sys
import time

from schemas.errors import printable

PROGRESS_S = 2.0
"""Between two lines."""


class Progress:
    """Says how many of how many are done.

    Args:
        unit: what is counted, in the plural.
    """

    def __init__(self, unit: str) -> None:
        self._unit, self._said_at = unit, time.monotonic()

    def __call__(self, n_done: int, n_all: int) -> None:
        """Note how many are done; says so where enough time has gone by."""
        now = time.monotonic()
        if now - self._said_at >= PROGRESS_S:
            self._said_at = now
            say(f"{n_done:,}/{n_all:,} {self._unit}")


def say(text: str) -> None:
    """Write a line beside what the command prints."""
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()

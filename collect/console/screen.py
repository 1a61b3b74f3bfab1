"""What people see while a run goes on: a live line on a terminal, plain lines elsewhere.

Text of models and servers is shown as text only: no markup, no control characters.
"""

from __future__ import annotations

import sys
import time

from collect.console.progress import RunReport, Screen
from collect.tally import Tally, first_words
from schemas.errors import printable
from schemas.run.result import Result

PLAIN_EVERY_S = 5.0
"""Between two lines of progress where nothing can be redrawn, as in CI."""


class PlainScreen:
    """Lines for logs: the first and last trial, and one every few seconds between."""

    def __init__(self) -> None:
        self._tally = Tally(0)
        self._said_at = 0.0

    def begin(self, report: RunReport) -> None:
        """Say where the run is written."""
        self._tally = Tally(report.planned, report.present, report.passed)
        self._say(first_words(report))

    def result(self, result: Result) -> None:
        """Say how far the run is, not too often."""
        self._tally.add(result)
        now = time.monotonic()
        finished = self._tally.done == self._tally.planned
        if finished or now - self._said_at >= PLAIN_EVERY_S:
            self._said_at = now
            self._say(f"{self._tally.done}/{self._tally.planned} · {self._tally.line()}")

    def note(self, text: str) -> None:
        """Say a note."""
        self._say(printable(text))

    def end(self) -> None:
        """Nothing to take away."""

    def _say(self, text: str) -> None:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def open_screen() -> Screen:
    """Return the screen that fits where standard error goes."""
    if not sys.stderr.isatty():
        return PlainScreen()
    from collect.live import TerminalScreen  # noqa: PLC0415 - rich is for terminals

    return TerminalScreen()

"""What people see while a run goes on: a live line on a terminal, plain lines elsewhere.

Text of models and servers is shown as text only: no markup, no control characters.
"""

from __future__ import annotations

import sys
import time

from collect.console.progress import RunReport, Screen, Tally, first_words
from schemas.errors import printable
from schemas.run.result import Result

PLAIN_INTERVAL_S = 5.0
"""Between two lines of progress where nothing can be redrawn, as in CI."""

REDRAW_INTERVAL_S = 0.1
"""Between two changes of the line; nobody reads faster, and each costs time."""


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
        self.together(self._tally)

    def together(self, tally: Tally) -> None:
        """Say how far several shards are together, not too often."""
        self._tally = tally
        now = time.monotonic()
        finished = self._tally.done == self._tally.planned
        if finished or now - self._said_at >= PLAIN_INTERVAL_S:
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

    return TerminalScreen()


class TerminalScreen:
    """One live line below the notes."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - 30 ms, and for terminals alone
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
        )

        self._console = Console(stderr=True)
        self._tally = Tally(0)
        self._drawn_at = 0.0
        self._progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[line]}", markup=False),
            console=self._console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, line="starting")

    def begin(self, report: RunReport) -> None:
        """Show the run's folder and an empty bar."""
        self._tally = Tally(report.planned, report.present, report.passed)
        self._print(first_words(report))
        self._progress.update(self._task, total=report.planned)
        self._progress.start()

    def result(self, result: Result) -> None:
        """Move the bar."""
        self._tally.add(result)
        self.together(self._tally)

    def together(self, tally: Tally) -> None:
        """Move the bar of several shards."""
        self._tally = tally
        now = time.monotonic()
        if now - self._drawn_at >= REDRAW_INTERVAL_S or self._tally.done == self._tally.planned:
            self._drawn_at = now
            self._progress.update(self._task, completed=self._tally.done, line=self._tally.line())

    def note(self, text: str) -> None:
        """Print a note above the bar."""
        self._print(printable(text), "yellow")

    def end(self) -> None:
        """Take the bar away."""
        self._progress.stop()

    def _print(self, text: str, style: str = "") -> None:
        from rich.text import Text  # noqa: PLC0415 - as above

        self._console.print(Text(text, style=style))

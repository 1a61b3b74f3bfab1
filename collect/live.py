"""What a terminal shows while a run goes on: notes, and one line that is redrawn."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.text import Text

from collect.console.progress import RunReport
from collect.tally import Tally, first_words
from schemas.errors import printable
from schemas.run.result import Result

REDRAWN_EVERY_S = 0.1
"""Between two changes of the line; nobody reads faster, and each costs time."""


class TerminalScreen:
    """One live line below the notes."""

    def __init__(self) -> None:
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
        self._console.print(Text(first_words(report)))
        self._progress.update(self._task, total=report.planned)
        self._progress.start()

    def result(self, result: Result) -> None:
        """Move the bar."""
        self._tally.add(result)
        now = time.monotonic()
        if now - self._drawn_at >= REDRAWN_EVERY_S or self._tally.done == self._tally.planned:
            self._drawn_at = now
            self._progress.update(self._task, completed=self._tally.done, line=self._tally.line())

    def note(self, text: str) -> None:
        """Print a note above the bar."""
        self._console.print(Text(printable(text), style="yellow"))

    def end(self) -> None:
        """Take the bar away."""
        self._progress.stop()

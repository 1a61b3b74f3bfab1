"""What people see while a run goes on: a live line on a terminal, plain lines elsewhere.

Text of models and servers is shown as text only: no markup, no control characters.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.text import Text

from schemas.errors import printable
from schemas.result import Result

PLAIN_EVERY_S = 5.0
"""Between two lines of progress where nothing can be redrawn, as in CI."""


class Tally:
    """Counts of a run so far, and one line that says them."""

    def __init__(self, planned: int) -> None:
        self.planned = planned
        self.done = 0
        self.passed = 0
        self.tokens = 0
        self.failures: Counter[str] = Counter()
        self._began = time.monotonic()

    def add(self, result: Result) -> None:
        """Take one result in."""
        self.done += 1
        self.passed += result.passed is True
        self.tokens += result.output_tokens or 0
        if result.failure_type is not None:
            self.failures[result.failure_type] += 1

    def line(self) -> str:
        """Return passed so far, speed, tokens, time left and failures by kind."""
        elapsed = max(time.monotonic() - self._began, 1e-9)
        rate = self.done / elapsed
        parts = [f"{self.passed} passed", f"{rate:.1f}/s", f"{self.tokens:,} tokens out"]
        if self.done:
            parts.append(f"{_duration((self.planned - self.done) / rate)} left")
        parts += [f"{printable(kind)} {count}" for kind, count in self.failures.most_common(3)]
        return " · ".join(parts)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    if hours:
        return f"{hours}h{minutes:02d}m"
    return f"{minutes}m{whole % 60:02d}s" if minutes else f"{whole}s"


class TerminalScreen:
    """One live line below the notes."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._tally = Tally(0)
        self._progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[line]}", markup=False),
            console=self._console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, line="starting")

    def begin(self, run_dir: Path, planned: int) -> None:
        """Show the run's folder and an empty bar."""
        self._tally = Tally(planned)
        self._console.print(Text(f"run {run_dir}: {planned} trials"))
        self._progress.update(self._task, total=planned)
        self._progress.start()

    def result(self, result: Result) -> None:
        """Move the bar."""
        self._tally.add(result)
        self._progress.update(self._task, completed=self._tally.done, line=self._tally.line())

    def note(self, text: str) -> None:
        """Print a note above the bar."""
        self._console.print(Text(printable(text), style="yellow"))

    def end(self) -> None:
        """Take the bar away."""
        self._progress.stop()


class PlainScreen:
    """Lines for logs: the first and last trial, and one every few seconds between."""

    def __init__(self) -> None:
        self._tally = Tally(0)
        self._said_at = 0.0

    def begin(self, run_dir: Path, planned: int) -> None:
        """Say where the run is written."""
        self._tally = Tally(planned)
        self._say(f"run {run_dir}: {planned} trials")

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


def open_screen() -> TerminalScreen | PlainScreen:
    """Return the screen that fits where standard error goes."""
    return TerminalScreen() if sys.stderr.isatty() else PlainScreen()

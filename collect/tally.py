"""How a run goes, in a line: what every screen says."""

from __future__ import annotations

import time
from collections import Counter

from collect.console.progress import RunReport
from schemas.errors import counted, printable
from schemas.run.result import Result


class Tally:
    """Counts of a run so far, and one line that says them."""

    def __init__(self, planned: int, done: int = 0, passed: int = 0) -> None:
        self.planned = planned
        self.done = done
        self._before = done
        self.passed = passed
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
        rate = (self.done - self._before) / elapsed
        parts = [f"{self.passed} passed", f"{rate:.1f}/s", f"{counted(self.tokens, 'token')} out"]
        if rate:
            parts.append(f"{_duration((self.planned - self.done) / rate)} left")
        parts += [f"{printable(kind)} {count}" for kind, count in self.failures.most_common(3)]
        return " · ".join(parts)


def first_words(report: RunReport) -> str:
    """Return what is said when a run begins or goes on."""
    done = f", {report.present} of them finished" if report.present else ""
    return f"run {report.run_dir}: {counted(report.planned, 'trial')}{done}"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    if hours:
        return f"{hours}h{minutes:02d}m"
    return f"{minutes}m{whole % 60:02d}s" if minutes else f"{whole}s"

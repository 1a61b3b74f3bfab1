"""How a run goes: what every screen is told, the line that says it, and the report at its end."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from collect.console.judging_report import JudgingReport
from schemas.config.prices import NANO
from schemas.errors import EXIT_OK, counted, printable
from schemas.failures import is_open
from schemas.run.result import Result


class Screen(Protocol):
    """Who is told how the run goes."""

    def begin(self, report: RunReport) -> None:
        """The folder exists, the plan is written; what is finished already is in the report."""

    def result(self, result: Result) -> None:
        """One trial is finished and written."""

    def together(self, tally: Tally) -> None:
        """How far several shards are together."""

    def note(self, text: str) -> None:
        """Something the user should know."""

    def end(self) -> None:
        """The last trial is written."""


@dataclass
class RunReport:
    """What `collect run --json` prints."""

    run_id: str
    run_dir: str
    planned: int
    present: int = 0
    ok: int = 0
    success: int = 0
    passed: int = 0
    by_status: dict[str, int] = field(default_factory=dict)
    wall_ms: int = 0
    cost_usd: float | None = None
    """Of the trials whose cost is known, `n_cost_known` of them; None when none is."""
    n_cost_known: int = 0
    n_open: int = 0
    """Failed trials that are asked again when the run goes on."""
    is_summed_up: bool = True
    """summary.json is of this run as it is now."""
    open_shifts: list[str] = field(default_factory=list)
    """Levels that fell, up to this run, and have not recovered: a sentence each."""
    judging: JudgingReport | None = None
    """What its judges said; None: nobody was asked."""
    report_path: str | None = None
    """Its report as a page; None: nobody asked for one, or there is none."""
    pushed_to: str | None = None
    """URL of the shared lake that has it; None: nobody named one, or it could not be pushed."""
    exit_code: int = EXIT_OK

    def count(self, result: Result) -> None:
        """Take one result in."""
        self.present += 1
        self.ok += result.availability_status == "ok"
        self.success += result.success
        self.passed += result.passed is True
        self.n_open += not result.success and is_open(result.failure_type)
        self.by_status[result.status] = self.by_status.get(result.status, 0) + 1
        if result.cost_usd is not None:
            self.add_cost(result.cost_usd)

    def add_cost(self, usd: float) -> None:
        """Add the cost of one trial; summed in whole nano-dollars, whatever the order."""
        self.cost_usd = (round((self.cost_usd or 0.0) * NANO) + round(usd * NANO)) / NANO
        self.n_cost_known += 1


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

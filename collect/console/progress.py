"""What a run reports: while it goes on to a screen, at its end as one record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from schemas.config.prices import NANO
from schemas.errors import EXIT_OK
from schemas.failures import is_open
from schemas.run.result import Result


class Screen(Protocol):
    """Who is told how the run goes."""

    def begin(self, report: RunReport) -> None:
        """The folder exists, the plan is written; what is finished already is in the report."""

    def result(self, result: Result) -> None:
        """One trial is finished and written."""

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
    report_path: str | None = None
    """Its report as a page; None: nobody asked for one, or there is none."""
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

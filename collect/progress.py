"""What a run reports: while it goes on to a screen, at its end as one record."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from schemas.errors import EXIT_OK
from schemas.result import Result


class Screen(Protocol):
    """Who is told how the run goes."""

    def begin(self, run_dir: Path, planned: int, done: int) -> None:
        """The folder exists, the plan is written, so many trials are finished already."""

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
    exit_code: int = EXIT_OK

    def count(self, result: Result) -> None:
        """Take one result in."""
        self.present += 1
        self.ok += result.availability_status == "ok"
        self.success += result.success
        self.passed += result.passed is True
        self.by_status[result.status] = self.by_status.get(result.status, 0) + 1
        if result.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + result.cost_usd

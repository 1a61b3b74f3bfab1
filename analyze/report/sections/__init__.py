"""Typed parts of a report (`schemas.output.report`): one module a section, `build` joins them.

Each takes a context (the run, its baseline, and where both are read from) and returns records;
nothing here knows how a report looks.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analyze.lake.raw_tables import read_sql
from analyze.query.run_list import ListedRun
from analyze.query.session import Session
from schemas.errors import runs_flag
from schemas.output.comparison import Comparison, ThresholdsUsed
from schemas.output.summary import RunSummary
from schemas.run.model_names import NO_NAMES, ModelNames


def query(name: str) -> str:
    """Return one of the report's own queries."""
    return read_sql(f"report/queries/{name}.sql")


@dataclass(frozen=True)
class ReportContext:
    """One run that is reported, with all that several sections read."""

    session: Session
    run: ListedRun
    folder: Path | None
    """Of the run; None when it is not here."""
    summary: RunSummary
    baseline: tuple[str, ...]
    """run_ids, oldest first; empty without one."""
    comparison: Comparison | None
    """With the baseline."""
    limits: ThresholdsUsed
    names: ModelNames = NO_NAMES
    """What models are called in sentences; everywhere else an id stands until it is shown."""

    @property
    def run_id(self) -> str:
        """Of the run."""
        return self.run.run_id

    def names_of(self, model_ids: Sequence[str]) -> list[str]:
        """Return the names of models, for a sentence."""
        return [self.names.of(model_id) for model_id in model_ids]

    def command(self, *words: str) -> str:
        """Return an `analyze` command that can be copied as it stands."""
        return shlex.join(["analyze", *words, *runs_flag(self.session.runs_dir)])

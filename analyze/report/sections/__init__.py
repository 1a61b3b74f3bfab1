"""Sections of a report: each says what it reads from the lake, and what people see of that.

What is read (from a context: the run, its baseline, and where both are read from) is a record of
`schemas.output.report`. What is seen is made of the report alone: tables as values, lines of
Markdown; `analyze.report.html` alone knows the page.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from analyze.comparison.evidence.outcomes import CaseOutcome, read_outcomes
from analyze.lake.overlay import read_sql
from analyze.query.run_list import ListedRun, read_run
from analyze.query.run_ref import run_folder
from analyze.query.session import Session
from analyze.report.table import Table
from analyze.summary.summarize import summary_of
from schemas.errors import runs_flag
from schemas.output.comparison import Comparison, ThresholdsUsed
from schemas.output.report import RunReport
from schemas.output.report_trials import Flip
from schemas.output.summary import RunSummary
from schemas.registry import Registry
from schemas.run.model_names import NO_NAMES, ModelNames


class OfModel(Protocol):
    """A row about one model."""

    @property
    def model_id(self) -> str:
        """Its id."""


Row = TypeVar("Row", bound=OfModel)


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
    limits: ThresholdsUsed
    names: ModelNames = NO_NAMES
    """What models are called in sentences; everywhere else an id stands until it is shown."""
    baseline: tuple[str, ...] = ()
    """run_ids, oldest first; empty without one."""
    comparison: Comparison | None = None
    """With the baseline."""
    flips: tuple[Flip, ...] = ()
    transcript_bytes: int = 0
    """Of transcripts, as a page embeds them."""

    @property
    def run_id(self) -> str:
        """Of the run."""
        return self.run.run_id

    @cached_property
    def outcomes(self) -> list[CaseOutcome]:
        """Every case of the run with each model, read once."""
        return read_outcomes(self.session, [self.run_id])

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each model in the order of the answer, by model_id."""
        models = dict.fromkeys(group.model_id for group in self.summary.models)
        return {model_id: place for place, model_id in enumerate(models)}

    def by_result(self, rows: Iterable[Row]) -> tuple[Row, ...]:
        """Return rows of models in the order of the answer; those of one model stay as they are."""
        last = len(self.places)
        return tuple(sorted(rows, key=lambda row: self.places.get(row.model_id, last)))

    def names_of(self, model_ids: Sequence[str]) -> list[str]:
        """Return the names of models, for a sentence."""
        return [self.names.of(model_id) for model_id in model_ids]

    def command(self, *words: str) -> str:
        """Return an `analyze` command that can be copied as it stands."""
        return shlex.join(["analyze", *words, *self._runs_flag])

    @cached_property
    def _runs_flag(self) -> Sequence[str]:
        return runs_flag(self.session.runs_dir)


def read_context(
    session: Session, run_id: str, limits: ThresholdsUsed, names: ModelNames = NO_NAMES
) -> ReportContext:
    """Return one run without a baseline; it is known to be there."""
    folder = run_folder(session, run_id)
    summary = summary_of(session, run_id, folder)
    return ReportContext(session, read_run(session, run_id), folder, summary, limits, names)


@dataclass(frozen=True)
class Section:
    """One section; its id on the page is its name in `SECTIONS`."""

    title: str
    show: Callable[[RunReport], Table | Mapping[str, object] | None]
    """On the page: a table, or what the template of its id prints. Left out if there is nothing."""
    read: Callable[[ReportContext], Any] | None = None
    """Its field of the report, which is called as it is; of a package's section JSON in `added`."""
    shows_numbers: Callable[[RunReport], object] | None = None
    """Whether the glossary explains its numbers; None: where its field is not empty."""
    markdown: Callable[[RunReport], Iterable[Sequence[str]]] = lambda _: ()
    """Lines of each of its parts; none for most, since a pull request has little room."""


SECTIONS = Registry(
    "sections",
    Section,
    {
        "answer": "analyze.report.sections.answer:ANSWER",
        "headlines": "analyze.report.sections.headlines:HEADLINES",
        "leaderboard": "analyze.report.sections.leaderboard:LEADERBOARD",
        "comparison": "analyze.report.sections.comparison:COMPARISON",
        "matrix": "analyze.report.sections.failures:MATRIX",
        "cases": "analyze.report.sections.failures:CASES",
        "tags": "analyze.report.sections.tags:TAGS",
        "history": "analyze.report.sections.history:HISTORY",
        "latency": "analyze.report.sections.failures:LATENCY",
        "frontier": "analyze.report.sections.cost_frontier:FRONTIER",
        "tiers": "analyze.report.sections.leaderboard:TIERS",
        "failures": "analyze.report.sections.failures:FAILURES",
        "checks": "analyze.report.sections.failures:CHECKS",
        "judged": "analyze.report.sections.judged:JUDGED",
        "steps": "analyze.report.sections.steps:STEPS",
        "resources": "analyze.report.sections.leaderboard:RESOURCES",
        "transcripts": "analyze.report.sections.transcripts:TRANSCRIPTS",
        "provenance": "analyze.report.sections.provenance:PROVENANCE",
        "glossary": "analyze.report.sections.glossary:GLOSSARY",
    },
)
"""Sections in the order of the page; a new one is a file and a line, and a field of the report."""

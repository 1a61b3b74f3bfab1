"""Which sections a page has, in their order; one that has nothing to show is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from analyze.comparison.document import (
    axis_lines,
    by_need,
    excluded_lines,
    headline,
    limits_line,
    notes_of,
)
from analyze.regressions.document import details, entry_line, everything, mark, skipped_lines
from analyze.regressions.document import headline as shift_headline
from analyze.render.numbers import whole
from analyze.report.html.first_screen import MOST_DOUBTS, Folded, open_shifts, run_facts, standings
from analyze.report.html.table import Place, Table, anchors_of, explained, place_of
from analyze.report.html.tables_models import (
    changed_cases,
    compared_models,
    compared_tables,
    frontier,
    leaderboard,
    tiers,
    times,
)
from analyze.report.html.tables_run import (
    MARKS,
    config_files,
    failures,
    glossary,
    history,
    matrix,
    resources,
    served,
)
from schemas.output.report import RunReport, Transcript

WHY = {
    "flipped": "whose case flipped",
    "failed": "that failed or did not pass",
    "sampled": "that passed",
}
"""In the order of the page."""

BESIDE = "of the baseline beside them"

MOST_SHIFTS = 20
MOST_OPEN = 6
"""Models of a comparison; those after them are folded, unless something happened to them."""

QUIET = frozenset({"inconclusive", "unchanged"})

MOST_LINES = 20
"""Lines of what could not be judged."""


def shown_trials(shown: Sequence[Transcript]) -> str:
    """Return how many trials are shown, and why: `2 whose case flipped, 3 that passed`."""
    counted = Counter(BESIDE if one.is_baseline else WHY[one.why] for one in shown)
    order = [WHY["flipped"], BESIDE, WHY["failed"], WHY["sampled"]]
    return ", ".join(f"{whole(counted[what])} {what}" for what in order if counted[what])


@dataclass(frozen=True, slots=True)
class Section:
    """One section: its id, its title, and what stands in it.

    The id names its template too; a section that is a table alone needs none.
    """

    id: str
    title: str
    parts: dict[str, object]


def sections_of(report: RunReport) -> list[Section]:
    """Return the sections of a report that have something to show."""
    return list(_Sections(report).every())


class _Sections:
    def __init__(self, report: RunReport) -> None:
        self._report = report
        shown = report.transcripts.shown
        self._trials = list(zip(anchors_of(shown), shown, strict=True))
        self._anchors: dict[Place, str] = {place_of(one): anchor for anchor, one in self._trials}
        self._meanings = {term.name: term.meaning for term in report.glossary} | {
            term.field: term.meaning for term in report.glossary if term.field
        }

    def every(self) -> Iterator[Section]:
        """Yield them in the order of the page."""
        report = self._report
        yield self._answer()
        rates = leaderboard(report.summary, report.answer)
        yield from self._table("leaderboard", "Leaderboard", rates)
        yield from self._comparison()
        yield from self._matrix()
        yield from self._history()
        yield from self._models()
        yield from self._transcripts()
        yield self._provenance()
        yield from self._table("glossary", "Glossary", glossary(report.glossary))

    def _explained_table(self, table: Table) -> Table:
        """Return a table whose columns say what they mean."""
        return replace(table, columns=explained(table.columns, self._meanings))

    def _table(self, name: str, title: str, table: Table) -> Iterator[Section]:
        """Yield a section of one table; nothing where it has no row."""
        if table.rows:
            yield Section(name, title, {"table": self._explained_table(table)})

    def _command(self, name: str) -> str:
        """Return the first command of a name that the report was given; empty without one."""
        found = (one for one in self._report.provenance.commands if one.split()[1:2] == [name])
        return next(found, "")

    def _answer(self) -> Section:
        report, shown = self._report, standings(self._report)
        parts: dict[str, object] = {
            "standings": shown,
            "n_more": len(report.answer) - len(shown),
            "open": open_shifts(report),
            "doubts": Folded(report.doubts[:MOST_DOUBTS], report.doubts[MOST_DOUBTS:]),
            "n_serious": sum(doubt.is_serious for doubt in report.doubts),
        }
        return Section("answer", "The answer", parts)

    def _comparison(self) -> Iterator[Section]:
        comparison = self._report.comparison
        if comparison is None:
            return
        models = [
            (group.verdict, headline(group), list(notes_of(group)))
            for group in by_need(comparison.groups)
        ]
        n_open = max(MOST_OPEN, sum(verdict not in QUIET for verdict, _, _ in models))
        changes = changed_cases(comparison, self._command("compare"))
        parts: dict[str, object] = {
            "models": models[:n_open],
            "folded": models[n_open:],
            "table": self._explained_table(compared_models(comparison)),
            "tables": [self._explained_table(table) for table in compared_tables(comparison)],
            "changes": changes and self._explained_table(changes),
            "differs": list(axis_lines(comparison)),
            "excluded": [*excluded_lines(comparison.excluded), *comparison.unmatched],
            "limits": limits_line(comparison.limits),
            "flips": self._report.flips,
            "anchors": self._anchors,
        }
        yield Section("comparison", "Against the baseline", parts)

    def _matrix(self) -> Iterator[Section]:
        found = self._report.matrix
        if not found.cells:
            return
        command = self._report.transcripts.command
        table = matrix(found, self._report.run.run_id, self._anchors, command)
        used = {mark for cell in found.cells for mark in cell.marks}
        legend = [MARKS[mark] for mark in MARKS if mark in used]
        yield Section("matrix", "Cases", {"table": self._explained_table(table), "legend": legend})

    def _history(self) -> Iterator[Section]:
        if not self._report.history:
            return
        found = self._report.shifts
        shifts = everything(found) if found else []
        n_more = len(shifts) - MOST_SHIFTS
        parts: dict[str, object] = {
            "shifts": [
                (one.is_worse, mark(one) + shift_headline(one), list(details(one)))
                for one in shifts[:MOST_SHIFTS]
            ],
            "more": f"{whole(n_more)} more shifts" if n_more > 0 else "",
            "is_part": any(doubt.code == "narrowed" for doubt in self._report.doubts),
            "is_shard": self._report.run.shard is not None,
            "unused": [entry_line(entry) for entry in found.unused] if found else [],
            "skipped": skipped_lines(found.skipped)[:MOST_LINES] if found else [],
            "command": self._command("regressions"),
            "table": self._explained_table(history(self._report.history, self._command("runs"))),
        }
        yield Section("history", "History", parts)

    def _models(self) -> Iterator[Section]:
        report, command = self._report, self._report.transcripts.command
        if any(group.latency_ms.n for group in report.summary.models):
            yield from self._table("latency", "Latency", times(report.summary))
        yield from self._table("frontier", "Quality, cost, time", frontier(report.frontier))
        yield from self._table("tiers", "Tool-use tiers", tiers(report.summary, report.thresholds))
        yield from self._table("failures", "Failures", failures(report.failures, command))
        if any(group.n_total for group in report.summary.models):
            yield from self._table("resources", "Resources", resources(report.summary))

    def _transcripts(self) -> Iterator[Section]:
        found = self._report.transcripts
        if not found.shown and not found.n_not_passed:
            return
        parts: dict[str, object] = {
            "trials": self._trials,
            "told": shown_trials(found.shown),
            "n_left_out": whole(found.n_left_out) if found.n_left_out else "",
            "command": found.command,
        }
        yield Section("transcripts", "Transcripts", parts)

    def _provenance(self) -> Section:
        report, found = self._report, self._report.provenance
        parts: dict[str, object] = {
            "run": run_facts(report.run),
            "baseline": [run_facts(run) for run in report.baseline[:MOST_SHIFTS]],
            "found": found,
            "limits": limits_line(found.limits),
            "served": served(found.models),
            "files": config_files(found),
        }
        return Section("provenance", "Provenance", parts)

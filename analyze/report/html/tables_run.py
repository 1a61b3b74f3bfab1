"""Tables of the run itself: cases and models, runs before it, failures, the files it read."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby

from analyze.render.numbers import limits_of, moment, percent, whole
from analyze.report.html.anchors import Place
from analyze.report.html.table import Cell, Column, Mark, Table, number
from analyze.report.limits_source import HASH_SHOWN
from schemas.errors import counted
from schemas.output.report import (
    FailureCount,
    HistoryPoint,
    Matrix,
    MatrixCell,
    Provenance,
    Term,
    TrialMark,
)
from schemas.run.model_names import id_of

MARKS: dict[TrialMark, tuple[str, str]] = {
    "passed": ("✓", "passed"),
    "failed": ("✗", "did not pass"),
    "no_verdict": ("–", "no verdict"),
    "missing": ("·", "no result"),
}
"""Signs that tell the ways a trial went without colour, and their words."""

LOOKS: dict[TrialMark, str] = {"passed": "b", "failed": "i", "no_verdict": "u", "missing": "u"}
"""Elements that stand for them: the shortest there are, since a matrix holds thousands."""

MOST_RUNS = 10
"""Runs in the table of the history; the chart shows all."""

MOST_FAILURES = 100
MOST_FILES = 20


def matrix(found: Matrix, run_id: str, anchors: dict[Place, str], command: str) -> Table:
    """Return cases and models with a sign for each repetition, the hardest case first."""
    models = list(dict.fromkeys(cell.model_id for cell in found.cells))
    of_case: defaultdict[str, dict[str, MatrixCell]] = defaultdict(dict)
    for cell in found.cells:
        of_case[cell.case_id][cell.model_id] = cell
    columns = [
        Column("case", "case_id"),
        Column("all %", "passed_rate", is_number=True),
        *(Column(model, f"model:{id_of(model)}", is_number=True) for model in models),
    ]
    rows = []
    for case_id, cells in of_case.items():
        n_passed = sum(cell.n_passed for cell in cells.values())
        n_scored = sum(cell.n_scored for cell in cells.values())
        rows.append(
            [
                Cell(case_id),
                number(percent(n_passed / n_scored if n_scored else None)),
                *(_outcomes(cells.get(model), run_id, anchors) for model in models),
            ]
        )
    more = f"{whole(found.n_shown)} of {whole(found.n_cases)} cases: the hardest."
    return Table(
        "matrix",
        "Cases and models",
        columns,
        rows,
        more if found.n_shown < found.n_cases else "",
        command,
    )


def _outcomes(cell: MatrixCell | None, run_id: str, anchors: dict[Place, str]) -> Cell:
    if cell is None:
        return Cell("")
    marks: list[Mark] = []
    repetition = 0
    for mark, same in groupby(cell.marks):
        sign, words = MARKS[mark]
        plain = ""
        for _ in same:
            repetition += 1
            anchor = anchors.get((run_id, cell.model_id, cell.case_id, repetition))
            if anchor is None:
                plain += sign
                continue
            if plain:
                marks.append(Mark(LOOKS[mark], plain))
                plain = ""
            told = f"repetition {repetition} of {cell.case_id} by {cell.model_id}: {words}"
            marks.append(Mark(LOOKS[mark], sign, f"#{anchor}", told))
        if plain:
            marks.append(Mark(LOOKS[mark], plain))
    if len(cell.marks) < cell.n_planned:
        marks.append(Mark("u", f"+{whole(cell.n_planned - len(cell.marks))}"))
    rate = cell.passed_rate
    told = f"{whole(cell.n_passed)} of {whole(cell.n_scored)}"
    return Cell(told, "" if rate is None else f"{rate:.3g}", marks=tuple(marks))


def history(points: tuple[HistoryPoint, ...], command: str) -> Table:
    """Return the newest runs of the suite, this one among them, newest first."""
    models = list(dict.fromkeys(point.model_id for point in points))
    of_run: defaultdict[str, dict[str, HistoryPoint]] = defaultdict(dict)
    for point in points:
        of_run[point.run_id][point.model_id] = point
    runs = list(of_run)
    newest = set(runs[-MOST_RUNS:])
    columns = (
        Column("run", "run_id"),
        Column("started (UTC)", "started_at_ms"),
        *(Column(f"{model} %", f"model:{id_of(model)}", is_number=True) for model in models),
    )
    rows = []
    for run_id in reversed(runs):
        found = of_run[run_id]
        one = next(iter(found.values()))
        if run_id in newest or one.is_this_run:
            cells = [_point(found.get(model)) for model in models]
            below = "this run" if one.is_this_run else ""
            rows.append([Cell(run_id, below=below), Cell(moment(one.started_at_ms)), *cells])
    more = f"The newest {MOST_RUNS} of {whole(len(runs))} runs in the chart."
    return Table(
        "history",
        "Runs of the suite",
        columns,
        rows,
        more if len(runs) > MOST_RUNS else "",
        command,
    )


def _point(point: HistoryPoint | None) -> Cell:
    if point is None:
        return Cell("")
    rate = percent(point.passed_rate)
    return Cell(rate, rate, "n", below=limits_of(point.passed_rate, point))


def failures(counts: tuple[FailureCount, ...], command: str) -> Table:
    """Return how trials ended without a success, by whose fault it was."""
    columns = (
        Column("failure", "failure_type"),
        Column("model", "model_id"),
        Column("cause", "cause"),
        Column("counts against the model", "counts_against_model"),
        Column("trials", "n_trials", is_number=True),
    )
    rows = [
        [
            Cell(one.failure_type),
            Cell(one.model_id),
            Cell(one.cause or "unknown"),
            Cell("yes" if one.counts_against_model else "no"),
            number(whole(one.n_trials), one.n_trials),
        ]
        for one in counts[:MOST_FAILURES]
    ]
    n_more = len(counts) - MOST_FAILURES
    more = f"{counted(n_more, 'more row')}." if n_more > 0 else ""
    return Table("failures", "Failures by cause", columns, rows, more, command)


def glossary(terms: tuple[Term, ...]) -> Table:
    """Return what every number of the report means."""
    columns = (
        Column("number", "name"),
        Column("meaning", "meaning"),
        Column("formula", "formula"),
        Column("source", "source"),
    )
    rows = [
        [
            Cell(term.name, below=term.field or ""),
            Cell(term.meaning.replace("`", "")),
            Cell(term.formula or "", look="code"),
            Cell(term.source or ""),
        ]
        for term in terms
    ]
    return Table("glossary", "What every number means", columns, rows)


def config_files(provenance: Provenance) -> Table | None:
    """Return the files that were read, with the beginning of their sha256; None without one."""
    if not provenance.config_files:
        return None
    columns = (Column("file", "path"), Column("sha256", "sha256"))
    rows = [
        [Cell(path), Cell(digest[:HASH_SHOWN], look="code")]
        for path, digest in list(provenance.config_files.items())[:MOST_FILES]
    ]
    n_more = len(provenance.config_files) - MOST_FILES
    more = f"{counted(n_more, 'more file')}, in config.json." if n_more > 0 else ""
    return Table("files", "Files that were read", columns, rows, more)

"""How trials of a run ended: failures and whose fault they were, times, and every verdict.

Times of successes come in bins, so that a chart is small for any run; the matrix of cases and
models has every repetition, as far as a page has room for them.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import get_args

from analyze.contracts.models import LatencyHistogramRow
from analyze.render.numbers import BEYOND_LIMIT, millis, percent, whole
from analyze.report.sections import ReportContext, Section, query
from analyze.report.table import (
    MODEL,
    Cell,
    Column,
    Mark,
    Table,
    model_cell,
    number,
    sort_key,
)
from schemas.errors import counted
from schemas.output.report import (
    CheckCount,
    FailureCount,
    LatencyBin,
    Matrix,
    MatrixCell,
    RunReport,
    TrialMark,
)
from schemas.output.summary import PercentileName, Percentiles
from schemas.run.model_names import id_of

MAX_KINDS = 300
"""Ways to fail, over all models; more names than this only a made-up log has."""

MAX_CASES = 200

MAX_CELLS = 1_200

MAX_MARKS = 20
"""Of a cell; its counts are of all repetitions."""

MAX_CHECKS = 200
"""Rows of checks; of more the ones that failed least are left out, which the table says."""

MAX_FAILURES = 100
"""Rows of the table."""

PERCENTILES: tuple[PercentileName, ...] = get_args(PercentileName)

N_TINTS = 4
"""Of a cell, besides that of a rate of 0."""

LAST = 1e300
"""What a time beyond the limit sorts by."""

TOO_FEW = "Fewer than 5 trials are expected beyond this percentile; it is never compared."

MARKS: dict[TrialMark, tuple[str, str]] = {
    "passed": ("✓", "passed"),
    "failed": ("✗", "did not pass"),
    "no_verdict": ("–", "no verdict"),
    "missing": ("·", "no result"),
}
"""Signs that tell the ways a trial went without colour, and their words."""

LOOKS: dict[TrialMark, str] = {"passed": "b", "failed": "i", "no_verdict": "u", "missing": "u"}
"""Elements that stand for them: the shortest there are, since a matrix holds thousands."""


def failures_of(context: ReportContext) -> tuple[FailureCount, ...]:
    """Return the trials without a success by model, best first, and way to fail, most first.

    A time-out that the provider answers for is counted apart from one of the model. Of more than
    `MAX_KINDS` ways the rarest are left out.

    Raises:
        ViewError: the lake cannot be read.
    """
    rows = context.session.rows(query("failure_kinds"), [context.run_id, MAX_KINDS])
    names = tuple(FailureCount.model_fields)
    return context.by_result(FailureCount(**dict(zip(names, row, strict=True))) for row in rows)


def checks_of(context: ReportContext) -> tuple[CheckCount, ...]:
    """Return how deterministic checks went by model, those that failed most first.

    Raises:
        ViewError: the lake cannot be read.
    """
    rows = context.session.rows(query("check_counts"), [context.run_id, MAX_CHECKS])
    names = tuple(CheckCount.model_fields)
    return tuple(CheckCount(**dict(zip(names, row, strict=True))) for row in rows)


def latency_of(context: ReportContext) -> tuple[LatencyBin, ...]:
    """Return the bins of e2e_ms and ttft_ms that hold a success, by model, metric and bin.

    Raises:
        ViewError: the lake cannot be read.
    """
    rows = context.session.read(LatencyHistogramRow, "run_id = ?", [context.run_id])
    return tuple(LatencyBin.model_validate(row, from_attributes=True) for row in rows)


def matrix_of(context: ReportContext) -> Matrix:
    """Return the hardest cases with every model that was asked them, in the summary's order.

    The hardest is the one with the lowest passed rate over all models together, then the first by
    name; cases without a verdict come last. At most `MAX_CASES` and `MAX_CELLS` are here, and of
    a cell the first `MAX_MARKS` repetitions.

    Raises:
        ViewError: the lake cannot be read.
    """
    models = [group.model_id for group in context.summary.models]
    most = min(MAX_CASES, MAX_CELLS // max(len(models), 1))
    rows = context.session.rows(
        query("hardest_cases"), [context.run_id, context.run_id, max(most, 1)]
    )
    n_cases = rows[0][1] if rows else 0
    cases = [case_id for case_id, _ in rows[:most]]
    place = {name: number for number, name in enumerate(cases)}
    column = {name: number for number, name in enumerate(models)}
    found = context.session.rows(
        query("matrix_cells"),
        [context.run_id, cases, context.run_id, cases, MAX_MARKS],
    )
    found.sort(key=lambda row: (place[row[0]], column[row[1]]))
    names = tuple(MatrixCell.model_fields)
    cells = tuple(MatrixCell(**dict(zip(names, row, strict=True))) for row in found)
    return Matrix(n_cases=n_cases, n_shown=len(cases), cells=cells)


def times(report: RunReport) -> Table | None:
    """Return percentiles of both times of each model, in ms; None where no trial was timed."""
    models = report.summary.models
    if not any(group.latency_ms.n for group in models):
        return None
    heads = (("", "latency_ms"), ("first token ", "ttft_ms"))
    columns = [MODEL]
    for head, field in heads:
        columns += [
            Column(f"{head}{name} ms", f"{field}.{name}", is_number=True)
            for name in (*PERCENTILES, "mean")
        ]
        columns += [
            Column(f"{head}n", f"{field}.n", is_number=True),
            Column(f"{head}timed out", f"{field}.n_timeouts", is_number=True),
        ]
    rows = [
        [model_cell(group), *_percentiles(group.latency_ms), *_percentiles(group.ttft_ms)]
        for group in models
    ]
    return Table("times", "Times of each model", columns, rows)


def _percentiles(found: Percentiles) -> list[Cell]:
    return [
        *(_percentile(found, name) for name in PERCENTILES),
        number(millis(found.mean)),
        number(whole(found.n), found.n),
        number(whole(found.n_timeouts), found.n_timeouts),
    ]


def _percentile(found: Percentiles, name: PercentileName) -> Cell:
    is_beyond = name in found.beyond_limit
    text = BEYOND_LIMIT if is_beyond else millis(getattr(found, name))
    sort = LAST if is_beyond else getattr(found, name)
    if getattr(found.supported, name) or not text:
        return number(text, sort)
    return Cell(text, sort_key(text, sort) or text, "n", TOO_FEW, is_unsure=True)


def failures(report: RunReport) -> Table:
    """Return how trials ended without a success, by whose fault it was."""
    counts = report.failures
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
        for one in counts[:MAX_FAILURES]
    ]
    n_more = len(counts) - MAX_FAILURES
    more = f"{counted(n_more, 'more row')}." if n_more > 0 else ""
    return Table("failures", "Failures by cause", columns, rows, more, report.transcripts.command)


def checks(report: RunReport) -> Table:
    """Return how deterministic checks went with each model."""
    columns = (
        Column("check", "check_id"),
        Column("model", "model_id"),
        Column("kind", "kind"),
        Column("cases", "n_cases", is_number=True),
        Column("trials", "n_trials", is_number=True),
        Column("passed", "n_passed", is_number=True),
        Column("failed", "n_failed", is_number=True),
        Column("could not look", "n_errors", is_number=True),
    )
    rows = [
        [
            Cell(one.check_id),
            Cell(one.model_id),
            Cell(one.kind),
            *(
                number(whole(count), count)
                for count in (one.n_cases, one.n_trials, one.n_passed, one.n_failed, one.n_errors)
            ),
        ]
        for one in report.checks
    ]
    more = f"The {whole(MAX_CHECKS)} that failed most." if len(rows) >= MAX_CHECKS else ""
    return Table("checks", "Deterministic checks", columns, rows, more)


def matrix(report: RunReport) -> Table:
    """Return cases and models with a sign for each repetition, the hardest case first."""
    found = report.matrix
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
                *(_outcomes(cells.get(model)) for model in models),
            ]
        )
    said = f"{whole(found.n_shown)} of {whole(found.n_cases)} cases: the hardest."
    more = said if found.n_shown < found.n_cases else ""
    return Table("matrix", "Cases and models", columns, rows, more, report.transcripts.command)


def _outcomes(cell: MatrixCell | None) -> Cell:
    """Return the signs of a cell, with a tint by its rate: a script makes each of them a link."""
    if cell is None:
        return Cell("")
    marks = [Mark(LOOKS[mark], MARKS[mark][0] * len([*same])) for mark, same in groupby(cell.marks)]
    if len(cell.marks) < cell.n_planned:
        marks.append(Mark("s", f"+{whole(cell.n_planned - len(cell.marks))}"))
    rate = cell.passed_rate
    said = f"{whole(cell.n_passed)} of {whole(cell.n_scored)}"
    value, tint = ("", "") if rate is None else (f"{rate:.3g}", f"heat-{round(rate * N_TINTS)}")
    return Cell(said, value, tint, marks=tuple(marks))


def _matrix_parts(report: RunReport) -> dict[str, object] | None:
    if not report.matrix.cells:
        return None
    used = {mark for cell in report.matrix.cells for mark in cell.marks}
    return {"table": matrix(report), "legend": [MARKS[mark] for mark in MARKS if mark in used]}


def _cases(report: RunReport) -> dict[str, object] | None:
    """Return something where there are answers; a script puts them side by side."""
    n_cases = len({one.case_id for one in report.transcripts.shown})
    return {"n_cases": n_cases} if n_cases else None


CASES = Section("Answers by case", show=_cases)

MATRIX = Section(
    "Cases", show=_matrix_parts, read=matrix_of, shows_numbers=lambda report: report.matrix.cells
)

LATENCY = Section("Latency", show=times, read=latency_of)

CHECKS = Section("Checks", show=checks, read=checks_of)

FAILURES = Section("Failures", show=failures, read=failures_of)

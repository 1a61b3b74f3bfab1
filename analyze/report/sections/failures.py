"""How trials of a run ended: failures and whose fault they were, times, and every verdict.

Times of successes come in bins, so that a chart is small for any run; the matrix of cases and
models has every repetition, as far as a page has room for them.
"""

from __future__ import annotations

from analyze.contracts.models import LatencyHistogramRow
from analyze.report.sections import ReportContext, query
from schemas.output.report import FailureCount, LatencyBin, Matrix, MatrixCell

MOST_KINDS = 300
"""Ways to fail, over all models; more names than this only a made-up log has."""

MOST_CASES = 200

MOST_CELLS = 1_200

MOST_MARKS = 20
"""Of a cell; its counts are of all repetitions."""


def failures_of(context: ReportContext) -> tuple[FailureCount, ...]:
    """Return the trials without a success by model and way to fail, the most frequent first.

    A time-out that the provider answers for is counted apart from one of the model. Of more than
    `MOST_KINDS` ways the rarest are left out.

    Raises:
        ViewError: the lake cannot be read.
    """
    rows = context.session.rows(query("failure_kinds"), [context.run_id, MOST_KINDS])
    names = tuple(FailureCount.model_fields)
    return tuple(FailureCount(**dict(zip(names, row, strict=True))) for row in rows)


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
    name; cases without a verdict come last. At most `MOST_CASES` and `MOST_CELLS` are here, and of
    a cell the first `MOST_MARKS` repetitions.

    Raises:
        ViewError: the lake cannot be read.
    """
    models = [group.model_id for group in context.summary.models]
    most = min(MOST_CASES, MOST_CELLS // max(len(models), 1))
    rows = context.session.rows(
        query("hardest_cases"), [context.run_id, context.run_id, max(most, 1)]
    )
    n_cases = rows[0][1] if rows else 0
    cases = [case_id for case_id, _ in rows[:most]]
    place = {name: number for number, name in enumerate(cases)}
    column = {name: number for number, name in enumerate(models)}
    found = context.session.rows(
        query("matrix_cells"),
        [context.run_id, cases, context.run_id, cases, MOST_MARKS],
    )
    found.sort(key=lambda row: (place[row[0]], column[row[1]]))
    names = tuple(MatrixCell.model_fields)
    cells = tuple(MatrixCell(**dict(zip(names, row, strict=True))) for row in found)
    return Matrix(n_cases=n_cases, n_shown=len(cases), cells=cells)

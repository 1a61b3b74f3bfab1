"""How trials of a run ended: failures and whose fault they were, times, and every verdict.

Times of successes come in bins, so that a chart is small for any run; the matrix of cases and
models has every repetition, as far as a page has room for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.contracts.models import LatencyHistogramRow
from schemas.output.report import FailureCount, LatencyBin, Matrix, MatrixCell

if TYPE_CHECKING:
    from analyze.report.sections import ReportContext

MOST_KINDS = 300
"""Ways to fail, over all models; more names than this only a made-up log has."""

SQL = """
with

kinds as (
    select
        model_id,
        failure_type,
        cause,
        counts_against_model,
        count(*) as n_trials
    from int_failures
    where run_id = ?
    group by model_id, failure_type, cause, counts_against_model
    order by n_trials desc, model_id, failure_type, cause
    limit ?
)

select
    model_id,
    failure_type,
    cause,
    counts_against_model,
    n_trials
from kinds
order by model_id, n_trials desc, failure_type, cause, counts_against_model
"""

MOST_CASES = 200

MOST_CELLS = 1_200

MOST_MARKS = 20
"""Of a cell; its counts are of all repetitions."""

HARDEST = """
with

planned as (
    select case_id
    from stg_plans
    where run_id = ?
    group by case_id
),

judged as (
    select
        case_id,
        count(passed) as n_scored,
        count(case when passed then 1 end) as n_passed
    from trials
    where run_id = ?
    group by case_id
)

select
    planned.case_id,
    count(*) over () as n_cases
from planned
left join judged
    on planned.case_id = judged.case_id
order by judged.n_passed / nullif(judged.n_scored, 0) nulls last, planned.case_id
limit ?
"""

CELLS = """
with

plans as (
    select
        model_id,
        case_id,
        repetition
    from stg_plans
    where run_id = ? and list_contains(?::varchar[], case_id)
),

answers as (
    select
        model_id,
        case_id,
        repetition,
        passed
    from trials
    where run_id = ? and list_contains(?::varchar[], case_id)
),

marked as (
    select
        plans.model_id,
        plans.case_id,
        plans.repetition,
        answers.passed,
        case
            when answers.passed then 'passed'
            when not answers.passed then 'failed'
            when answers.case_id is not null then 'no_verdict'
            else 'missing'
        end as mark
    from plans
    left join answers
        on plans.model_id = answers.model_id
        and plans.case_id = answers.case_id
        and plans.repetition = answers.repetition
)

select
    case_id,
    model_id,
    arg_min(mark, repetition, ?) as marks,
    count(*) as n_planned,
    count(passed) as n_scored,
    count(case when passed then 1 end) as n_passed
from marked
group by case_id, model_id
"""


def failures_of(context: ReportContext) -> tuple[FailureCount, ...]:
    """Return the trials without a success by model and way to fail, the most frequent first.

    A time-out that the provider answers for is counted apart from one of the model. Of more than
    `MOST_KINDS` ways the rarest are left out.

    Raises:
        ViewError: the lake cannot be read.
    """
    rows = context.session.rows(SQL, [context.run_id, MOST_KINDS])
    return tuple(
        FailureCount(
            model_id=model_id,
            failure_type=failure_type,
            cause=cause,
            counts_against_model=counts_against_model,
            n_trials=n_trials,
        )
        for model_id, failure_type, cause, counts_against_model, n_trials in rows
    )


def latency_of(context: ReportContext) -> tuple[LatencyBin, ...]:
    """Return the bins of e2e_ms and ttft_ms that hold a success, by model, metric and bin.

    Raises:
        ViewError: the lake cannot be read.
    """
    rows = context.session.read(LatencyHistogramRow, "run_id = ?", [context.run_id])
    return tuple(
        LatencyBin(
            model_id=row.model_id,
            metric=row.metric,
            bin_from_ms=row.bin_from_ms,
            bin_to_ms=row.bin_to_ms,
            n_trials=row.n_trials,
        )
        for row in rows
    )


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
    rows = context.session.rows(HARDEST, [context.run_id, context.run_id, max(most, 1)])
    n_cases = rows[0][1] if rows else 0
    cases = [case_id for case_id, _ in rows[:most]]
    place = {name: number for number, name in enumerate(cases)}
    column = {name: number for number, name in enumerate(models)}
    found = context.session.rows(CELLS, [context.run_id, cases, context.run_id, cases, MOST_MARKS])
    found.sort(key=lambda row: (place[row[0]], column[row[1]]))
    cells = tuple(
        MatrixCell(
            case_id=case_id,
            model_id=model_id,
            marks=tuple(marks),
            n_planned=n_planned,
            n_scored=n_scored,
            n_passed=n_passed,
            passed_rate=n_passed / n_scored if n_scored else None,
        )
        for case_id, model_id, marks, n_planned, n_scored, n_passed in found
    )
    return Matrix(n_cases=n_cases, n_shown=len(cases), cells=cells)

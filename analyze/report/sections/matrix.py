"""Cases and models of a run with every repetition visible, as far as a page has room for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.output.report import Matrix, MatrixCell

if TYPE_CHECKING:
    from analyze.report.context import Asked

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


def matrix_of(asked: Asked) -> Matrix:
    """Return the hardest cases with every model that was asked them, in the summary's order.

    The hardest is the one with the lowest passed rate over all models together, then the first by
    name; cases without a verdict come last. At most `MOST_CASES` and `MOST_CELLS` are here, and of
    a cell the first `MOST_MARKS` repetitions.

    Raises:
        ViewError: the lake cannot be read.
    """
    models = [group.model_id for group in asked.summary.models]
    most = min(MOST_CASES, MOST_CELLS // max(len(models), 1))
    rows = asked.session.rows(HARDEST, [asked.run_id, asked.run_id, max(most, 1)])
    n_cases = rows[0][1] if rows else 0
    cases = [case_id for case_id, _ in rows[:most]]
    place = {name: number for number, name in enumerate(cases)}
    column = {name: number for number, name in enumerate(models)}
    found = asked.session.rows(CELLS, [asked.run_id, cases, asked.run_id, cases, MOST_MARKS])
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

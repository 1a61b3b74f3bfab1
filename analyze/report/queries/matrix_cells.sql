-- One row per case and model, with how each of the first repetitions went.
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
    count(case when passed then 1 end) as n_passed,
    count(case when passed then 1 end) / nullif(count(passed), 0) as passed_rate
from marked
group by case_id, model_id

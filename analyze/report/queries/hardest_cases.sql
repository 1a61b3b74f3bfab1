-- One row per case, the lowest passed rate over all models first.
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

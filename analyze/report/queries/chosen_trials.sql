-- One row per trial worth reading.
-- Models take turns; each goes through its cases before it comes to a second trial of one.
with ended as (
    select
        model_id, case_id, repetition, record_no,
        coalesce(not passed, false) or not is_success as is_bad
    from trials
    where run_id = ? and (? or not passed or not is_success)
),

first_cases as (
    select model_id, is_bad, unnest(min(case_id, ?)) as case_id
    from (select distinct model_id, is_bad, case_id from ended)
    group by model_id, is_bad
),

placed as (
    select
        *,
        row_number() over (
            partition by model_id, is_bad, case_id order by repetition
        ) as place
    from ended
    semi join first_cases using (model_id, is_bad, case_id)
),

turns as (
    select
        *,
        row_number() over (partition by model_id, is_bad order by place, case_id) as turn
    from placed
)

select model_id, case_id, repetition, record_no, is_bad
from turns
order by is_bad desc, turn, model_id
limit ?

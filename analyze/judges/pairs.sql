-- One row per comparison of two trials by one judge that has an answer in both orders.
with said as (
    select * from pair_iterations
    where
        list_contains(?, run_id)
        and is_current
        and failure is null
        and (?::varchar is null or ? in (model_id, model))
        and (? is null or evaluation_profile_id = ?)
)

select
    one.evaluation_profile_id,
    one.judge_run_id,
    one.judge_id,
    one.suite_id || ' ' || coalesce(plans.cluster, one.case_id) as unit,
    one.preferred as this_first,
    other.preferred as other_first
from said as one
inner join said as other
    on one.run_id = other.run_id
    and one.record_no = other.record_no
    and one.evaluation_profile_id = other.evaluation_profile_id
    and one.other_run_id = other.other_run_id
    and one.other_model_id = other.other_model_id
    and one.judge_run_id = other.judge_run_id
    and one.iteration = other.iteration
inner join stg_plans as plans
    on one.run_id = plans.run_id
    and one.model_id = plans.model_id
    and one.case_id = plans.case_id
    and one.repetition = plans.repetition
where one.pair_order = 'this_first' and other.pair_order = 'other_first'
order by
    one.evaluation_profile_id,
    one.judge_run_id,
    one.run_id,
    one.record_no,
    one.other_run_id,
    one.other_model_id,
    one.iteration

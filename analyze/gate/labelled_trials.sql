-- One row per trial that a judge scored as it scores a candidate: the same way to judge, the same models
-- that answered as judges, and a case that asks and is judged as the candidate's is.
with wanted as (
    select distinct
        suite_id,
        case_id,
        case_hash
    from stg_plans
    where list_contains(?, run_id)
),

served as (
    select
        run_id,
        record_no,
        list_sort(list(distinct served_model)) as models
    from judge_iterations
    where is_current and failure is null and evaluation_profile_id = ?
    group by run_id, record_no
)

select
    said.run_id,
    said.model_id,
    said.case_id,
    said.repetition
from judgements as said
inner join stg_plans as plans
    on said.run_id = plans.run_id
    and said.model_id = plans.model_id
    and said.case_id = plans.case_id
    and said.repetition = plans.repetition
semi join wanted
    on plans.suite_id = wanted.suite_id
    and plans.case_id = wanted.case_id
    and plans.case_hash = wanted.case_hash
left join served on said.run_id = served.run_id and said.record_no = served.record_no
where
    list_contains(?, said.run_id)
    and said.is_current
    and said.final_score is not null
    and said.evaluation_profile_id = ?
    and said.judge_hash = ?
    and list_has_all(?, coalesce(served.models, []))

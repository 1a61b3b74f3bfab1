-- One row per run, model_id and case with expected tools.
-- Only trials that the provider served: a refused request says nothing about the model's tools.
-- The cluster is the plan's; cases are counted apart and then joined.
with

served as (
    select
        run_id,
        model_id,
        case_id,
        count(*) as n_tool_trials,
        count(case when tool_use_success then 1 end) as n_tool_success
    from trials
    where has_expected_tools and is_ok
    group by run_id, model_id, case_id
),

clustered as (
    select
        run_id,
        model_id,
        case_id,
        min(cluster) as cluster
    from stg_plans
    where cluster is not null
    group by run_id, model_id, case_id
)

select
    served.run_id,
    served.model_id,
    served.case_id,
    clustered.cluster,
    served.n_tool_trials,
    served.n_tool_success
from served
left join clustered
    on served.run_id = clustered.run_id
    and served.model_id = clustered.model_id
    and served.case_id = clustered.case_id

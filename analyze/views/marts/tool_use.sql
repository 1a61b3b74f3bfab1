-- One row per run, provider, model, thinking level and model_id that was to use a tool at least once.
-- The rate is over trials that the provider served, reused ones too: a refused request says nothing
-- about the model's tools.
with

planned as (
    select
        run_id,
        model_id,
        count(*) as n_planned,
        count(distinct case_id) as n_cases
    from stg_plans
    where has_expected_tools
    group by run_id, model_id
),

served as (
    select
        run_id,
        model_id,
        count(*) as n_served_cases,
        cast(sum(n_tool_trials) as bigint) as n_tool_trials,
        cast(sum(n_tool_success) as bigint) as n_tool_success
    from int_case_tool_use
    group by run_id, model_id
)

select
    planned.run_id,
    model_groups.provider,
    model_groups.model,
    model_groups.thinking_level,
    planned.model_id,
    planned.n_cases,
    planned.n_planned,
    coalesce(served.n_served_cases, 0) as n_served_cases,
    coalesce(served.n_tool_trials, 0) as n_tool_trials,
    coalesce(served.n_tool_success, 0) as n_tool_success,
    cast(served.n_tool_success as double) / nullif(served.n_tool_trials, 0) as tool_use_rate
from planned
inner join int_run_models as model_groups
    on planned.run_id = model_groups.run_id
    and planned.model_id = model_groups.model_id
left join served
    on planned.run_id = served.run_id
    and planned.model_id = served.model_id
order by
    planned.run_id,
    model_groups.provider,
    model_groups.model,
    model_groups.thinking_level nulls first,
    planned.model_id

-- One row per provider, model, thinking level and model_id, over all runs.
with

planned as (
    select
        provider,
        model,
        thinking_level,
        model_id,
        count(*) as n_runs,
        cast(sum(n_planned) as bigint) as n_planned
    from int_run_models
    group by provider, model, thinking_level, model_id
),

labelled as (
    select
        plans.provider,
        plans.model,
        plans.thinking_level,
        plans.model_id,
        map_extract(runs.model_labels, plans.model_id)[1] as model_label,
        row_number() over (
            partition by plans.provider, plans.model, plans.thinking_level, plans.model_id
            order by runs.started_at_ms desc nulls last, runs.run_id desc
        ) as age
    from int_run_models as plans
    inner join stg_runs as runs
        on plans.run_id = runs.run_id
    where map_extract(runs.model_labels, plans.model_id)[1] is not null
),

served as (
    select
        run_id,
        model_id,
        served_model,
        count(*) as n_total,
        count(case when is_success then 1 end) as n_success,
        min(case when is_measured then started_at_ms end) as first_started_at_ms,
        max(case when is_measured then started_at_ms end) as last_started_at_ms
    from trials
    group by run_id, model_id, served_model
),

answered as (
    select
        plans.provider,
        plans.model,
        plans.thinking_level,
        plans.model_id,
        cast(sum(served.n_total) as bigint) as n_total,
        cast(sum(served.n_success) as bigint) as n_success,
        count(distinct served.served_model) as n_served_models,
        min(served.first_started_at_ms) as first_started_at_ms,
        max(served.last_started_at_ms) as last_started_at_ms
    from served
    inner join int_run_models as plans
        on served.run_id = plans.run_id
        and served.model_id = plans.model_id
    group by plans.provider, plans.model, plans.thinking_level, plans.model_id
)

select
    planned.provider,
    planned.model,
    planned.thinking_level,
    planned.model_id,
    labelled.model_label,
    planned.n_runs,
    planned.n_planned,
    coalesce(answered.n_total, 0) as n_total,
    coalesce(answered.n_success, 0) as n_success,
    coalesce(answered.n_served_models, 0) as n_served_models,
    answered.first_started_at_ms,
    answered.last_started_at_ms
from planned
left join labelled
    on planned.provider = labelled.provider
    and planned.model = labelled.model
    and planned.thinking_level is not distinct from labelled.thinking_level
    and planned.model_id = labelled.model_id
    and labelled.age = 1
left join answered
    on planned.provider = answered.provider
    and planned.model = answered.model
    and planned.thinking_level is not distinct from answered.thinking_level
    and planned.model_id = answered.model_id
order by
    planned.provider,
    planned.model,
    planned.thinking_level nulls first,
    planned.model_id

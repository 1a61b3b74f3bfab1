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
    from int_plan_counts
    group by provider, model, thinking_level, model_id
),

answered as (
    select
        provider,
        model,
        thinking_level,
        model_id,
        count(*) as n_total,
        count(case when is_success then 1 end) as n_success,
        count(distinct served_model) as n_served_models,
        min(case when is_measured then started_at_ms end) as first_started_at_ms,
        max(case when is_measured then started_at_ms end) as last_started_at_ms
    from trials
    group by provider, model, thinking_level, model_id
)

select
    planned.provider,
    planned.model,
    planned.thinking_level,
    planned.model_id,
    planned.n_runs,
    planned.n_planned,
    coalesce(answered.n_total, 0) as n_total,
    coalesce(answered.n_success, 0) as n_success,
    coalesce(answered.n_served_models, 0) as n_served_models,
    answered.first_started_at_ms,
    answered.last_started_at_ms
from planned
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

-- One row per provider, model and thinking level, over all runs: the routing tier of its tool use.
-- The bounds are the thresholds in force and half open, so no rate falls between two tiers: 79.5 % is
-- tier 2. Where no trial with expected tools was served the tier is null: unrated.
-- Its interval needs how single cases came out, which int_group_tool_counts tells.
with

model_groups as (
    select
        provider,
        model,
        thinking_level,
        count(distinct run_id) as n_runs
    from stg_plans
    group by provider, model, thinking_level
),

tool_counts as (
    select
        provider,
        model,
        thinking_level,
        cast(sum(n_cases) as bigint) as n_cases,
        cast(sum(n_cases * n_tool_trials) as bigint) as n_tool_trials,
        cast(sum(n_cases * n_tool_success) as bigint) as n_tool_success
    from int_group_tool_counts
    group by provider, model, thinking_level
),

rates as (
    select
        model_groups.provider,
        model_groups.model,
        model_groups.thinking_level,
        model_groups.n_runs,
        coalesce(tool_counts.n_cases, 0) as n_cases,
        coalesce(tool_counts.n_tool_trials, 0) as n_tool_trials,
        coalesce(tool_counts.n_tool_success, 0) as n_tool_success,
        cast(tool_counts.n_tool_success as double) / nullif(tool_counts.n_tool_trials, 0)
            as tool_use_rate
    from model_groups
    left join tool_counts
        on model_groups.provider = tool_counts.provider
        and model_groups.model = tool_counts.model
        and model_groups.thinking_level is not distinct from tool_counts.thinking_level
)

select
    rates.provider,
    rates.model,
    rates.thinking_level,
    rates.n_runs,
    rates.n_cases,
    rates.n_tool_trials,
    rates.n_tool_success,
    rates.tool_use_rate,
    cast(
        case
            when rates.tool_use_rate >= bounds.tier_1_from then 1
            when rates.tool_use_rate >= bounds.tier_2_from then 2
            when rates.tool_use_rate is not null then 3
        end as bigint
    ) as tier,
    bounds.tier_1_from,
    bounds.tier_2_from
from rates
cross join stg_thresholds as bounds
order by rates.provider, rates.model, rates.thinking_level nulls first

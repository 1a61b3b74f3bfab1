-- One row per run, provider, model, thinking level and model_id: what quality costs.
-- A group is on the frontier when no other of its run is cheaper and at least as good, or better and
-- no dearer; cheap means cost per scored trial, good means passed_rate. Null where either is unknown:
-- a price nobody knows is no low price. Null as well for a group that may not be named best, which is
-- no rival either: fewer than five units (cases, or clusters of them) with a verdict, or a coverage
-- below the threshold in force.
with

rates as (
    select
        model_groups.run_id,
        model_groups.provider,
        model_groups.model,
        model_groups.thinking_level,
        model_groups.model_id,
        coalesce(costs.n_scored, 0) as n_scored,
        coalesce(costs.n_passed, 0) as n_passed,
        cast(costs.n_passed as double) / nullif(costs.n_scored, 0) as passed_rate,
        coalesce(costs.n_cost_known, 0) as n_cost_known,
        coalesce(costs.n_priced_scored, 0) as n_priced_scored,
        coalesce(costs.n_priced_passed, 0) as n_priced_passed,
        costs.cost_nano_usd,
        cast(costs.cost_nano_usd as double) / 1e9 as cost_usd,
        cast(costs.cost_nano_usd as double) / nullif(costs.n_priced_scored, 0) / 1e9
            as cost_usd_per_scored,
        cast(costs.cost_nano_usd as double) / nullif(costs.n_priced_passed, 0) / 1e9
            as cost_usd_per_pass,
        coalesce(costs.n_latency, 0) as n_latency,
        cast(costs.e2e_ms_total as double) / nullif(costs.n_latency, 0) as e2e_ms_mean
    from int_run_models as model_groups
    left join int_group_costs as costs
        on model_groups.run_id = costs.run_id
        and model_groups.model_id = costs.model_id
),

covered as (
    select
        run_id,
        model_id,
        count(
            distinct case when n_scored > 0 then coalesce('1' || cluster, '0' || case_id) end
        ) as n_units,
        cast(sum(n_scored) as double) / nullif(sum(n_scorable), 0) as coverage
    from int_case_passes
    group by run_id, model_id
),

ranked as (
    select
        rates.run_id,
        rates.model_id,
        rates.passed_rate,
        rates.cost_usd_per_scored,
        dense_rank() over (
            partition by rates.run_id order by rates.cost_usd_per_scored
        ) as price_rank
    from rates
    inner join covered
        on rates.run_id = covered.run_id
        and rates.model_id = covered.model_id
    cross join stg_thresholds as thresholds
    where
        rates.passed_rate is not null
        and rates.cost_usd_per_scored is not null
        and covered.n_units >= 5
        and covered.coverage >= thresholds.min_coverage - 1e-9
),

rivals as (
    select
        run_id,
        model_id,
        passed_rate,
        max(passed_rate) over (partition by run_id, price_rank) as best_at_this_price,
        max(passed_rate) over (
            partition by run_id
            order by price_rank
            range between unbounded preceding and 1 preceding
        ) as best_below_this_price
    from ranked
)

select
    rates.run_id,
    rates.provider,
    rates.model,
    rates.thinking_level,
    rates.model_id,
    rates.n_scored,
    rates.n_passed,
    rates.passed_rate,
    rates.n_cost_known,
    rates.n_priced_scored,
    rates.n_priced_passed,
    rates.cost_nano_usd,
    rates.cost_usd,
    rates.cost_usd_per_scored,
    rates.cost_usd_per_pass,
    rates.n_latency,
    rates.e2e_ms_mean,
    rivals.passed_rate = rivals.best_at_this_price
        and rivals.passed_rate > coalesce(rivals.best_below_this_price, -1e0) as is_on_frontier
from rates
left join rivals
    on rates.run_id = rivals.run_id
    and rates.model_id = rivals.model_id
order by
    rates.run_id,
    rates.provider,
    rates.model,
    rates.thinking_level nulls first,
    rates.model_id

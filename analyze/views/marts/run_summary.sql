-- One row per run that was planned.
-- The wall clock is of trials made in this run: a reused one keeps the times of the older run, and
-- so do its tokens and cost. It is the run's own clock where every such row has one: sessions of a
-- resumed run added up, whatever was done to the wall clock meanwhile.
with

planned as (
    select
        run_id,
        count(*) as n_models,
        cast(sum(n_planned) as bigint) as n_planned,
        cast(sum(n_scorable) as bigint) as n_scorable
    from int_run_models
    group by run_id
),

measured as (
    select
        run_id,
        is_ok,
        is_success,
        is_reused,
        passed,
        ended_at_ms,
        case when is_measured then started_at_ms end as measured_from_ms,
        case when is_measured then ended_at_ms end as measured_to_ms,
        case when is_measured then elapsed_ms end as elapsed_ms,
        case when is_measured then input_tokens end as input_tokens,
        case when is_measured then output_tokens end as output_tokens,
        case when is_measured then cost_nano_usd end as cost_nano_usd
    from trials
),

counted as (
    select
        run_id,
        count(*) as n_total,
        count(case when is_ok then 1 end) as n_ok,
        count(case when is_success then 1 end) as n_success,
        count(case when is_reused then 1 end) as n_reused,
        count(passed) as n_scored,
        count(case when passed then 1 end) as n_passed,
        max(ended_at_ms) as ended_at_ms,
        max(measured_to_ms) - min(measured_from_ms) as wall_clock_ms,
        case when count(elapsed_ms) = count(measured_to_ms) then max(elapsed_ms) end as elapsed_ms,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens,
        cast(sum(cost_nano_usd) as bigint) as cost_nano_usd,
        count(cost_nano_usd) as n_cost_known
    from measured
    group by run_id
)

select
    planned.run_id,
    planned.n_models,
    planned.n_planned,
    coalesce(counted.n_total, 0) as n_total,
    coalesce(counted.n_ok, 0) as n_ok,
    coalesce(counted.n_success, 0) as n_success,
    coalesce(counted.n_reused, 0) as n_reused,
    planned.n_scorable,
    coalesce(counted.n_scored, 0) as n_scored,
    coalesce(counted.n_passed, 0) as n_passed,
    cast(counted.n_passed as double) / nullif(counted.n_scored, 0) as passed_rate,
    cast(coalesce(counted.n_passed, 0) as double) / nullif(planned.n_scorable, 0) as score_strict,
    cast(coalesce(counted.n_scored, 0) as double) / nullif(planned.n_scorable, 0) as coverage,
    counted.ended_at_ms,
    -- the wall clock was set back meanwhile: no duration is better than a negative one
    coalesce(
        counted.elapsed_ms,
        case when counted.wall_clock_ms >= 0 then counted.wall_clock_ms end
    ) as wall_clock_ms,
    counted.input_tokens,
    counted.output_tokens,
    cast(counted.cost_nano_usd as double) / 1e9 as cost_usd,
    coalesce(counted.n_cost_known, 0) as n_cost_known
from planned
left join counted
    on planned.run_id = counted.run_id
order by planned.run_id

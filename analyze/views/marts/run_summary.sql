-- One row per run.
-- The wall clock is of trials made in this run: a reused one keeps the times of the older run.
with

run_counts as (
    select
        run_id,
        count(*) as n_planned,
        cast(sum(case when has_result then 1 else 0 end) as bigint) as n_total,
        max(ended_at_ms) as ended_at_ms,
        max(case when is_measured then ended_at_ms end)
            - min(case when is_measured then started_at_ms end) as wall_clock_ms
    from int_planned_trials
    group by run_id
)

select
    run_id,
    n_planned,
    n_total,
    ended_at_ms,
    -- the wall clock was set back meanwhile: no duration is better than a negative one
    case when wall_clock_ms >= 0 then wall_clock_ms end as wall_clock_ms
from run_counts
order by run_id

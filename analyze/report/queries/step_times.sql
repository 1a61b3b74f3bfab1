-- One row per model: what the time of its trials with steps went into, where all of it is known.
select
    model_id,
    count(*) as n_trials,
    cast(sum(total_ms) as bigint) as total_ms,
    cast(sum(coalesce(setup_ms, 0)) as bigint) as setup_ms,
    cast(sum(model_ms) as bigint) as model_ms,
    cast(sum(coalesce(tool_ms, 0)) as bigint) as tool_ms,
    cast(sum(coalesce(retry_ms, 0)) as bigint) as retry_ms,
    cast(sum(idle_ms) as bigint) as idle_ms
from trial_times
where run_id = ? and idle_ms is not null
group by model_id
order by model_id

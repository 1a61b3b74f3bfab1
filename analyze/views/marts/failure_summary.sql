-- One row per run, provider, model, thinking level, model_id and failure type.
select
    run_id,
    provider,
    model,
    thinking_level,
    model_id,
    failure_type,
    count(*) as n_trials
from int_planned_trials
where failure_type is not null
group by run_id, provider, model, thinking_level, model_id, failure_type
order by run_id, provider, model, thinking_level nulls first, model_id, failure_type

-- One row per run, provider, model, thinking level, model_id and failure type.
-- A failure without a name is `unknown`, so that the counts add up to the trials without success.
select
    run_id,
    provider,
    model,
    thinking_level,
    model_id,
    coalesce(failure_type, 'unknown') as failure_type,
    count(*) as n_trials
from trials
where not is_success
group by
    run_id,
    provider,
    model,
    thinking_level,
    model_id,
    coalesce(failure_type, 'unknown')
order by run_id, provider, model, thinking_level nulls first, model_id, failure_type

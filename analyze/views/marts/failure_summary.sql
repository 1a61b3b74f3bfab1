-- One row per run, provider, model, thinking level, model_id and failure type.
-- A failure without a name is `unknown`, so that the counts add up to the trials without success.
with

counted as (
    select
        run_id,
        model_id,
        coalesce(failure_type, 'unknown') as failure_type,
        count(*) as n_trials
    from trials
    where not is_success
    group by run_id, model_id, coalesce(failure_type, 'unknown')
)

select
    counted.run_id,
    models.provider,
    models.model,
    models.thinking_level,
    counted.model_id,
    counted.failure_type,
    counted.n_trials
from counted
inner join int_run_models as models
    on counted.run_id = models.run_id
    and counted.model_id = models.model_id
order by
    counted.run_id,
    models.provider,
    models.model,
    models.thinking_level nulls first,
    counted.model_id,
    counted.failure_type

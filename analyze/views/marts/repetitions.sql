-- One row per run, provider, model, thinking level and model_id: how often each case was asked.
with

counted as (
    select
        run_id,
        model_id,
        count(*) as n_cases,
        max(n_planned) as repetitions,
        count(case when is_repeated then 1 end) as n_repeated_cases,
        count(case when is_identical then 1 end) as n_identical_cases
    from int_case_passes
    group by run_id, model_id
)

select
    counted.run_id,
    models.provider,
    models.model,
    models.thinking_level,
    counted.model_id,
    counted.n_cases,
    counted.repetitions,
    counted.n_repeated_cases,
    counted.n_identical_cases
from counted
inner join int_run_models as models
    on counted.run_id = models.run_id
    and counted.model_id = models.model_id
order by
    counted.run_id, models.provider, models.model, models.thinking_level nulls first, counted.model_id

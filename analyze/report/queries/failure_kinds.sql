-- One row per way to fail of a model; of all models the most frequent ones.
with

kinds as (
    select
        model_id,
        failure_type,
        cause,
        counts_against_model,
        count(*) as n_trials
    from int_failures
    where run_id = ?
    group by model_id, failure_type, cause, counts_against_model
    order by n_trials desc, model_id, failure_type, cause
    limit ?
)

select
    model_id,
    failure_type,
    cause,
    counts_against_model,
    n_trials
from kinds
order by model_id, n_trials desc, failure_type, cause, counts_against_model

-- One row per model and kind of failure that is not the model's; the most frequent first.
select
    failed.model_id,
    failed.failure_type,
    coalesce(failed.cause, 'unknown cause'),
    count(*),
    count(*) filter (plans.is_scorable)
from int_failures as failed
left join stg_plans as plans
    on failed.run_id = plans.run_id
    and failed.model_id = plans.model_id
    and failed.case_id = plans.case_id
    and failed.repetition = plans.repetition
where failed.run_id = ? and not failed.counts_against_model
group by all
order by failed.model_id, count(*) desc, failed.failure_type

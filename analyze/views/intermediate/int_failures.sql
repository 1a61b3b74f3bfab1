-- One row per trial whose record that counts ended without a success.
-- A time-out is the model's once the endpoint had accepted the request, and then its verdict is
-- false; one without a verdict, of a case that can get one, was the provider's.
-- A failure without a name, and one that only a newer version knows, stays and has no cause.
select
    trials.run_id,
    trials.suite_id,
    trials.provider,
    trials.model,
    trials.thinking_level,
    trials.model_id,
    trials.case_id,
    trials.repetition,
    trials.record_no,
    coalesce(trials.failure_type, 'unknown') as failure_type,
    case
        when trials.failure_type = 'timeout' and trials.passed is null and plans.is_scorable
            then 'provider'
        else types.cause
    end as cause,
    case
        when trials.failure_type = 'timeout' and trials.passed is null and plans.is_scorable
            then false
        else coalesce(types.counts_against_model, not trials.passed, false)
    end as counts_against_model,
    types.is_retryable,
    trials.availability_status,
    trials.status,
    trials.error_code,
    trials.http_status,
    trials.attempt_count,
    trials.finish_reason,
    trials.passed,
    trials.started_at_ms,
    trials.e2e_ms,
    trials.artifact_path
from trials
left join stg_plans as plans
    on trials.run_id = plans.run_id
    and trials.model_id = plans.model_id
    and trials.case_id = plans.case_id
    and trials.repetition = plans.repetition
left join stg_failure_types as types
    on trials.failure_type = types.failure_type
where not trials.is_success

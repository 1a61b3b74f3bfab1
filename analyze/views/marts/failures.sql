-- One row per trial whose record that counts ended without a success, with its cause.
select
    failures.run_id,
    failures.provider,
    failures.model,
    failures.thinking_level,
    failures.model_id,
    failures.suite_id,
    failures.case_id,
    failures.repetition,
    failures.record_no,
    failures.failure_type,
    failures.cause,
    failures.counts_against_model,
    failures.is_retryable,
    failures.availability_status,
    failures.status,
    failures.error_code,
    failures.http_status,
    failures.attempt_count,
    failures.finish_reason,
    failures.passed,
    failures.started_at_ms,
    case
        -- beyond the year 9999 no client has a word for it
        when failures.started_at_ms < 253402300800000
            then timestamp '1970-01-01 00:00:00'
                + cast((failures.started_at_ms - failures.started_at_ms % 86400000) / 86400000 as int) * interval '1' day
                + cast(failures.started_at_ms % 86400000 as int) * interval '1' millisecond
    end as started_at,
    failures.e2e_ms,
    outputs.error_message,
    failures.artifact_path
from int_failures as failures
left join stg_outputs as outputs
    on failures.run_id = outputs.run_id
    and failures.record_no = outputs.record_no
order by
    failures.run_id,
    failures.provider,
    failures.model,
    failures.thinking_level nulls first,
    failures.model_id,
    failures.case_id,
    failures.repetition

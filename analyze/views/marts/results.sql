-- One row per trial with a result: the record that counts, its text apart (see `outputs`).
-- cause and counts_against_model are null for a success.
select
    trials.run_id,
    trials.provider,
    trials.model,
    trials.thinking_level,
    trials.model_id,
    trials.suite_id,
    trials.case_id,
    trials.repetition,
    trials.record_no,
    trials.reused_from_run_id,
    trials.prompt_id,
    trials.prompt_name,
    trials.case_hash,
    trials.run_fingerprint,
    trials.fingerprint_version,
    trials.runner_type,
    trials.validator_type,
    trials.expected_tools,
    trials.tags,
    trials.requested_model,
    trials.served_model,
    trials.served_provider,
    trials.routing,
    trials.availability_status,
    trials.status,
    trials.failure_type,
    trials.error_code,
    trials.http_status,
    trials.attempt_count,
    trials.finish_reason,
    trials.is_ok,
    trials.is_success,
    failures.cause,
    failures.counts_against_model,
    trials.passed,
    trials.objective_pass,
    trials.violation,
    trials.checks_passed,
    trials.checks_failed,
    trials.checks_errored,
    trials.checks,
    trials.tool_calls,
    trials.tool_call_count,
    trials.tool_call_source,
    trials.tool_use_success,
    trials.output_hash,
    trials.raw_output_truncated,
    trials.started_at_ms,
    case
        -- beyond the year 9999 no client has a word for it
        when trials.started_at_ms < 253402300800000
            then timestamp '1970-01-01 00:00:00'
                + cast((trials.started_at_ms - trials.started_at_ms % 86400000) / 86400000 as int) * interval '1' day
                + cast(trials.started_at_ms % 86400000 as int) * interval '1' millisecond
    end as started_at,
    trials.ended_at_ms,
    trials.e2e_ms,
    trials.ttft_ms,
    trials.clock_late_ms,
    trials.elapsed_ms,
    trials.input_tokens,
    trials.output_tokens,
    trials.reasoning_tokens,
    trials.cached_input_tokens,
    trials.token_source,
    cast(trials.cost_nano_usd as double) / 1e9 as cost_usd,
    trials.cost_source,
    trials.artifact_path
from trials
left join int_failures as failures
    on trials.run_id = failures.run_id
    and trials.record_no = failures.record_no
order by
    trials.run_id,
    trials.provider,
    trials.model,
    trials.thinking_level nulls first,
    trials.model_id,
    trials.case_id,
    trials.repetition

-- One row per trial that has a result: the record that no later one of its run supersedes.
-- A resumed run keeps both records of a repeated trial and the later one counts; everything that
-- follows reads trials here and never records. Hardly any record supersedes another, so this is a
-- join with an almost empty set.
select
    records.run_id,
    records.suite_id,
    records.provider,
    records.model,
    records.thinking_level,
    records.model_id,
    records.case_id,
    records.repetition,
    records.record_no,
    records.reused_from_run_id,
    records.prompt_id,
    records.prompt_name,
    records.case_hash,
    records.run_fingerprint,
    records.fingerprint_version,
    records.runner_type,
    records.validator_type,
    records.expected_tools,
    records.has_expected_tools,
    records.tags,
    records.requested_model,
    records.served_model,
    records.served_provider,
    records.routing,
    records.is_reused,
    records.is_measured,
    records.availability_status,
    records.status,
    records.failure_type,
    records.error_code,
    records.http_status,
    records.attempt_count,
    records.finish_reason,
    records.is_ok,
    records.is_success,
    records.passed,
    records.objective_pass,
    records.violation,
    records.checks_passed,
    records.checks_failed,
    records.checks_errored,
    records.checks,
    records.tool_calls,
    records.tool_call_count,
    records.tool_call_source,
    records.tool_use_success,
    records.output_hash,
    records.raw_output_truncated,
    records.started_at_ms,
    records.ended_at_ms,
    records.e2e_ms,
    records.ttft_ms,
    records.clock_late_ms,
    records.elapsed_ms,
    records.input_tokens,
    records.output_tokens,
    records.reasoning_tokens,
    records.cached_input_tokens,
    records.token_source,
    records.cost_nano_usd,
    records.cost_source,
    records.artifact_path,
    records.schema_version
from stg_results as records
left join (
    select
        run_id,
        supersedes
    from stg_results
    where supersedes is not null
) as superseding
    on records.run_id = superseding.run_id
    and records.record_no = superseding.supersedes
where superseding.supersedes is null

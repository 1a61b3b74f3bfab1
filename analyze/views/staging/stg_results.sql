-- One row per line of type `result` in results.jsonl, superseded ones included.
-- Money becomes integer nano-dollars, so that sums do not depend on the order of rows.
-- is_measured: asked in this run, not taken from an older one; only such rows have a time and cost.
-- Whether a trial can get a verdict stands in its plan alone (stg_plans): a failed trial has no
-- checks that would tell.
select
    ---------- ids
    run_id,
    suite_id,
    provider,
    model,
    thinking_level,
    model_id,
    case_id,
    repetition,
    record_no,
    supersedes,
    reused_from_run_id,

    ---------- what was asked
    prompt_id,
    prompt_name,
    case_hash,
    run_fingerprint,
    fingerprint_version,
    runner_type,
    validator_type,
    expected_tools,
    cardinality(expected_tools) > 0 as has_expected_tools,
    tags,
    requested_model,

    ---------- who answered
    served_model,
    served_provider,
    routing,
    reused_from_run_id is not null as is_reused,
    reused_from_run_id is null as is_measured,

    ---------- how it ended
    availability_status,
    status,
    failure_type,
    error_code,
    http_status,
    attempt_count,
    finish_reason,
    availability_status = 'ok' as is_ok,
    availability_status = 'ok' and success as is_success,

    ---------- verdicts
    passed,
    objective_pass,
    violation,
    checks_passed,
    checks_failed,
    checks_errored,
    checks,
    tool_calls,
    tool_call_count,
    tool_call_source,
    tool_use_success,
    output_hash,
    raw_output_truncated,

    ---------- measurements
    started_at_ms,
    ended_at_ms,
    e2e_ms,
    ttft_ms,
    clock_late_ms,
    elapsed_ms,
    input_tokens,
    output_tokens,
    reasoning_tokens,
    cached_input_tokens,
    token_source,
    cast(round(cost_usd * 1e9) as bigint) as cost_nano_usd,
    cost_source,

    ---------- where the rest is
    artifact_path,
    schema_version
from raw_results

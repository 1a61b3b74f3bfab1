-- One row per record of a trial, superseded ones included.
-- A trial that was tried again when its run went on has several; is_current marks the one that
-- counts.
select
    records.run_id,
    records.provider,
    records.model,
    records.thinking_level,
    records.model_id,
    records.suite_id,
    records.case_id,
    records.repetition,
    records.record_no,
    records.supersedes,
    superseding.record_no as superseded_by,
    superseding.record_no is null as is_current,
    records.reused_from_run_id,
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
    records.started_at_ms,
    records.started_at,
    records.ended_at_ms,
    records.e2e_ms,
    records.ttft_ms,
    records.input_tokens,
    records.output_tokens,
    cast(records.cost_nano_usd as double) / 1e9 as cost_usd,
    records.artifact_path
from stg_results as records
left join stg_results as superseding
    on records.run_id = superseding.run_id
    and records.record_no = superseding.supersedes
order by records.run_id, records.record_no

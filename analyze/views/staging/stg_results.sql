-- One row per line of type `result` in results.jsonl, superseded ones included.
-- Money becomes integer nano-dollars, so that sums do not depend on the order of rows.
select
    run_id,
    model_id,
    case_id,
    repetition,
    record_no,

    ---------- how it ended
    availability_status,
    status,
    failure_type,
    availability_status = 'ok' as is_ok,
    availability_status = 'ok' and success as is_success,
    reused_from_run_id is not null as is_reused,

    ---------- verdicts
    passed,
    objective_pass,
    tool_use_success,
    output_hash,

    ---------- measurements
    started_at_ms,
    ended_at_ms,
    e2e_ms,
    ttft_ms,
    input_tokens,
    output_tokens,
    reasoning_tokens,
    cached_input_tokens,
    cast(round(cost_usd * 1e9) as bigint) as cost_nano_usd,
from raw_results

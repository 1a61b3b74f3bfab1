-- One row per trial that has a result: of several records the one with the highest record_no.
-- A resumed run keeps both records of a repeated trial and the later one counts; everything that
-- follows reads trials here and never records.
select
    run_id,
    model_id,
    case_id,
    repetition,
    availability_status,
    status,
    failure_type,
    is_ok,
    is_success,
    is_reused,
    passed,
    objective_pass,
    tool_use_success,
    output_hash,
    started_at_ms,
    ended_at_ms,
    e2e_ms,
    ttft_ms,
    input_tokens,
    output_tokens,
    reasoning_tokens,
    cached_input_tokens,
    cost_nano_usd,
from (
    select
        *,
        row_number() over (
            partition by run_id, model_id, case_id, repetition
            order by record_no desc
        ) as age,
    from stg_results
) as records
where age = 1

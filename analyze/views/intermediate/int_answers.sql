-- One row per answer of a model in the record that counts of a trial of which tokens or time are known.
-- With tokens and cost of its own, as int_steps has them.
select
    run_id,
    model_id,
    case_id,
    repetition,
    record_no,
    trajectory,
    step_no,
    turn_no,
    input_tokens,
    cached_input_tokens,
    output_tokens,
    cost_nano_usd,
    duration_ms
from int_steps
where kind = 'message'
    and not is_copied_context
    and coalesce(input_tokens, output_tokens, cost_nano_usd, duration_ms) is not null

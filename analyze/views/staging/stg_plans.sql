-- One row per planned trial, as it stood before the first request.
select
    run_id,
    suite_id,
    provider,
    model,
    thinking_level,
    model_id,
    case_id,
    repetition,
    case_hash,
    validator_type,
    is_scorable,
    len(expected_tools) > 0 as has_expected_tools,
from raw_plans

-- One row per planned trial, as it stood before the first request.
-- case_hash, run_fingerprint and its parts are null for a folder in the older shape.
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
    trial_no,

    ---------- what is asked
    prompt_id,
    prompt_name,
    case_hash,
    run_fingerprint,
    fingerprint_version,
    fingerprint_parts,
    runner_type,
    validator_type,
    is_scorable,
    expected_tools,
    cardinality(expected_tools) > 0 as has_expected_tools,
    tags,
    cluster
from raw_plans

-- One row per planned trial, with its result where there is one.
-- A trial that never ran stays as a row without a result: missing, not a smaller denominator.
-- Whether a trial can get a verdict is the case's property, never the outcome's.
-- is_measured: made in this run, not taken from an older one; only such rows have a time and cost.
select
    plans.run_id,
    plans.suite_id,
    plans.provider,
    plans.model,
    plans.thinking_level,
    plans.model_id,
    plans.case_id,
    plans.repetition,
    plans.case_hash,
    plans.has_expected_tools,
    plans.is_scorable,

    ---------- how it ended
    results.run_id is not null as has_result,
    results.availability_status,
    results.failure_type,
    coalesce(results.is_ok, false) as is_ok,
    coalesce(results.is_success, false) as is_success,
    coalesce(not results.is_reused, false) as is_measured,

    ---------- verdicts
    results.passed,
    results.objective_pass,
    results.tool_use_success,
    results.output_hash,

    ---------- measurements
    results.started_at_ms,
    results.ended_at_ms,
    results.e2e_ms,
    results.ttft_ms,
    results.input_tokens,
    results.output_tokens,
    results.reasoning_tokens,
    results.cached_input_tokens,
    results.cost_nano_usd,
from stg_plans as plans
left join trials as results
    on plans.run_id is not distinct from results.run_id
    and plans.model_id is not distinct from results.model_id
    and plans.case_id is not distinct from results.case_id
    and plans.repetition is not distinct from results.repetition

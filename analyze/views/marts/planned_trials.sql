-- One row per planned trial, with what became of it: the plan against what is there.
-- A trial that never ran stays as a row: missing, not a smaller denominator.
select
    plans.run_id,
    plans.provider,
    plans.model,
    plans.thinking_level,
    plans.model_id,
    plans.suite_id,
    plans.case_id,
    plans.repetition,
    plans.trial_no,
    plans.prompt_id,
    plans.prompt_name,
    plans.case_hash,
    plans.run_fingerprint,
    plans.fingerprint_parts,
    plans.runner_type,
    plans.validator_type,
    plans.is_scorable,
    plans.expected_tools,
    plans.tags,
    plans.cluster,
    trials.record_no is not null as has_result,
    case when trials.record_no is not null then 'present' else 'missing' end as state,
    trials.record_no,
    trials.failure_type,
    trials.passed
from stg_plans as plans
left join trials
    on plans.run_id = trials.run_id
    and plans.model_id = trials.model_id
    and plans.case_id = trials.case_id
    and plans.repetition = trials.repetition
order by
    plans.run_id,
    plans.provider,
    plans.model,
    plans.thinking_level nulls first,
    plans.model_id,
    plans.case_id,
    plans.repetition

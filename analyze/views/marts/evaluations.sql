-- One row per evaluation: a later look at a stored answer, with what it came to.
-- is_current marks the one that decides its trial; one of a record that does not count is void.
select
    looks.run_id,
    plans.provider,
    plans.model,
    plans.thinking_level,
    looks.model_id,
    plans.suite_id,
    looks.case_id,
    looks.repetition,
    looks.result_no as record_no,
    looks.evaluation_no,
    looks.kind,
    looks.evaluated_at_ms,
    looks.evaluated_at,
    looks.evaluation_profile_id,
    looks.case_hash,
    looks.is_scorable,
    looks.passed,
    looks.checks_passed,
    looks.checks_failed,
    looks.checks_errored,
    looks.is_current,
    looks.benchlake_version
from int_evaluations as looks
inner join stg_plans as plans
    on looks.run_id = plans.run_id
    and looks.model_id = plans.model_id
    and looks.case_id = plans.case_id
    and looks.repetition = plans.repetition
order by looks.run_id, looks.evaluation_no

-- One row per preference: what all judges of a profile come to on two trials of one case.
-- outcome is of the trial of the row. is_current marks the newest of its profile on the record that
-- counts, against one model of one run.
select
    said.run_id,
    plans.provider,
    plans.model,
    plans.thinking_level,
    said.model_id,
    plans.suite_id,
    said.case_id,
    said.repetition,
    said.result_no as record_no,
    said.evaluation_no,
    said.evaluated_at_ms,
    said.evaluated_at,
    said.evaluation_profile_id,
    said.other_run_id,
    said.other_model_id,
    said.other_result_no as other_record_no,
    said.evaluation_fingerprint,
    said.status,
    said.outcome,
    said.is_identical,
    said.n_comparisons,
    said.n_flips_to_first,
    said.n_flips_to_second,
    said.answer_chars,
    said.other_answer_chars,
    said.judge_runs,
    trials.record_no is not null
    and row_number() over (
        partition by
            said.run_id, said.model_id, said.case_id, said.repetition, said.result_no,
            said.evaluation_profile_id, said.other_run_id, said.other_model_id
        order by said.evaluated_at_ms desc, said.evaluation_no desc
    ) = 1 as is_current,
    said.benchlake_version
from stg_preferences as said
inner join stg_plans as plans
    on said.run_id = plans.run_id
    and said.model_id = plans.model_id
    and said.case_id = plans.case_id
    and said.repetition = plans.repetition
left join trials
    on said.run_id = trials.run_id
    and said.model_id = trials.model_id
    and said.case_id = trials.case_id
    and said.repetition = trials.repetition
    and said.result_no = trials.record_no
order by said.run_id, said.evaluation_no

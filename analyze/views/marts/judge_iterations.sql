-- One row per answer of a judge: one judge asked once about one trial, failures included.
-- Scores are on 0-10. is_current marks the newest of its judge run and iteration on the record that
-- counts.
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
    said.judge_run_id,
    said.judge_id,
    said.iteration,
    said.requested_model,
    said.served_model,
    said.failure,
    said.error_message,
    said.overall,
    said.overall_as_said,
    said.task,
    said.process,
    said.autonomy,
    said.closeness,
    said.efficiency,
    said.spark,
    said.verdicts,
    said.summary,
    said.evidence,
    said.n_answers,
    said.attempt_count,
    said.input_tokens,
    said.output_tokens,
    said.cost_usd,
    said.cost_nano_usd,
    said.cost_source,
    said.e2e_ms,
    said.question_hash,
    said.artifact_path,
    said.reused_from_run_id,
    trials.record_no is not null
    and row_number() over (
        partition by
            said.run_id, said.model_id, said.case_id, said.repetition, said.result_no,
            said.evaluation_profile_id, said.judge_run_id, said.iteration
        order by said.evaluated_at_ms desc, said.evaluation_no desc
    ) = 1 as is_current,
    said.benchlake_version
from stg_judge_iterations as said
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

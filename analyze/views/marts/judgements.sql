-- One row per judgement: what all judges of an evaluation profile come to on one trial.
-- Scores are on 0-10. is_current marks the newest of its profile on the record that counts;
-- is_own says that the profile is the run's own.
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
    said.evaluation_fingerprint,
    said.judge_hash,
    said.status,
    said.final_score,
    said.task,
    said.process,
    said.autonomy,
    said.closeness,
    said.efficiency,
    said.spark,
    said.verdicts,
    said.pass_threshold,
    said.passed,
    said.failed_dimensions,
    said.soft_score,
    said.check_scores,
    said.judge_runs,
    coalesce(runs.evaluation_profile_id = said.evaluation_profile_id, false) as is_own,
    trials.record_no is not null
    and row_number() over (
        partition by
            said.run_id, said.model_id, said.case_id, said.repetition, said.result_no,
            said.evaluation_profile_id
        order by said.evaluated_at_ms desc, said.evaluation_no desc
    ) = 1 as is_current,
    said.benchlake_version
from stg_judgements as said
inner join stg_plans as plans
    on said.run_id = plans.run_id
    and said.model_id = plans.model_id
    and said.case_id = plans.case_id
    and said.repetition = plans.repetition
left join stg_runs as runs on said.run_id = runs.run_id
left join trials
    on said.run_id = trials.run_id
    and said.model_id = trials.model_id
    and said.case_id = trials.case_id
    and said.repetition = trials.repetition
    and said.result_no = trials.record_no
order by said.run_id, said.evaluation_no

-- One row per judge_iteration in evaluations.jsonl: one judge asked once about one record of a trial.
select
    run_id,
    model_id,
    case_id,
    repetition,
    result_no,
    record_no as evaluation_no,
    evaluated_at_ms,
    case
        -- beyond the year 9999 no client has a word for it
        when evaluated_at_ms < 253402300800000
            then timestamp '1970-01-01 00:00:00'
                + cast((evaluated_at_ms - evaluated_at_ms % 86400000) / 86400000 as int)
                * interval '1' day
                + cast(evaluated_at_ms % 86400000 as int) * interval '1' millisecond
    end as evaluated_at,
    evaluation_profile_id,
    judge_run_id,
    judge_id,
    iteration,
    question_hash,
    requested_model,
    served_model,
    failure,
    error_message,
    opinion.overall as overall,
    overall_as_said,
    opinion.dimensions.task as task,
    opinion.dimensions.process as process,
    opinion.dimensions.autonomy as autonomy,
    opinion.dimensions.closeness as closeness,
    opinion.dimensions.efficiency as efficiency,
    opinion.dimensions.spark as spark,
    opinion.verdicts as verdicts,
    summary,
    evidence,
    n_answers,
    attempt_count,
    input_tokens,
    output_tokens,
    cost_usd,
    cast(round(cost_usd * 1e9) as bigint) as cost_nano_usd,
    cost_source,
    e2e_ms,
    artifact_path,
    reused_from_run_id,
    benchlake_version
from raw_judge_iterations

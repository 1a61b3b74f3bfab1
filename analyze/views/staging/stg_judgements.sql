-- One row per judgement in evaluations.jsonl: what all judges of a profile come to on one record.
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
    evaluation_fingerprint,
    judge_hash,
    status,
    opinion.overall as final_score,
    opinion.dimensions.task as task,
    opinion.dimensions.process as process,
    opinion.dimensions.autonomy as autonomy,
    opinion.dimensions.closeness as closeness,
    opinion.dimensions.efficiency as efficiency,
    opinion.dimensions.spark as spark,
    opinion.verdicts as verdicts,
    pass_threshold,
    passed,
    failed_dimensions,
    soft_score,
    check_scores,
    judge_runs,
    benchlake_version
from raw_judgements

-- One row per preference in evaluations.jsonl: what all judges of a profile come to on two trials.
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
    other_run_id,
    other_model_id,
    other_result_no,
    evaluation_fingerprint,
    status,
    outcome,
    is_identical,
    n_comparisons,
    n_flips_to_first,
    n_flips_to_second,
    answer_chars,
    other_answer_chars,
    judge_runs,
    benchlake_version
from raw_preferences

-- One row per line of evaluations.jsonl: one look at one record of a trial.
select
    run_id,
    model_id,
    case_id,
    repetition,
    result_no,
    record_no as evaluation_no,
    kind,
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
    case_hash,
    is_scorable,
    passed,
    checks_passed,
    checks_failed,
    checks_errored,
    checks,
    benchlake_version
from raw_evaluations

-- One row per check of a record, by the run itself and by each evaluation of it.
-- evaluation_no is null for what the run found. is_current: of the set that decides its record.
with

looks as (
    select
        recorded.run_id,
        recorded.model_id,
        recorded.case_id,
        recorded.repetition,
        recorded.record_no,
        cast(null as bigint) as evaluation_no,
        cast(null as bigint) as evaluated_at_ms,
        deciding.evaluation_no is null as is_current,
        recorded.checks
    from stg_recorded_results as recorded
    left join int_evaluations as deciding
        on recorded.run_id = deciding.run_id
        and recorded.record_no = deciding.result_no
        and deciding.is_current
        and deciding.kind = 'check'
    union all
    select
        run_id,
        model_id,
        case_id,
        repetition,
        result_no as record_no,
        evaluation_no,
        evaluated_at_ms,
        is_current,
        checks
    from int_evaluations
),

found as (
    select
        run_id,
        model_id,
        case_id,
        repetition,
        record_no,
        evaluation_no,
        evaluated_at_ms,
        is_current,
        unnest(checks) as one_check
    from looks
)

select
    run_id,
    model_id,
    case_id,
    repetition,
    record_no,
    evaluation_no,
    evaluated_at_ms,
    is_current,
    one_check.check_id,
    one_check.check_hash,
    one_check.kind,
    one_check.outcome,
    one_check.message,
    one_check.reason,
    one_check.dimensions,
    one_check.detail
from found

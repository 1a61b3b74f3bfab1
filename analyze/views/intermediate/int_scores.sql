-- One row per number that another tool gave a record.
with

taken_apart as (
    select
        run_id,
        model_id,
        case_id,
        repetition,
        record_no,
        unnest(scores) as one_score
    from stg_recorded_results
)

select
    run_id,
    model_id,
    case_id,
    repetition,
    record_no,
    one_score.name as score_name,
    one_score.value as score
from taken_apart

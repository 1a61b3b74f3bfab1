-- One row per line of type `result` in results.jsonl, with the checks that its run made, and
-- the numbers that another tool gave it.
select
    run_id,
    model_id,
    case_id,
    repetition,
    record_no,
    checks,
    scores
from raw_recorded_results

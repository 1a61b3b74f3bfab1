-- One row per line of type `result` in results.jsonl, with the checks that its run made.
select
    run_id,
    model_id,
    case_id,
    repetition,
    record_no,
    checks
from raw_recorded_results

-- One row per line of type `result` in results.jsonl: its text, superseded ones included.
select
    run_id,
    model_id,
    case_id,
    repetition,
    record_no,
    raw_output,
    parsed_output,
    error_message
from raw_outputs

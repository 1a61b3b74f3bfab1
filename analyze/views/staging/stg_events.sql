-- One row per line of type `event` in results.jsonl: what happened to the run, not to one trial.
-- at_ms is null for a folder in the older shape.
select
    run_id,
    model_id,
    record_no,
    event,
    at_ms,
    detail,
    schema_version
from raw_events

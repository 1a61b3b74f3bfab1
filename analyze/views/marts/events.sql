-- One row per event: what happened to a run rather than to one trial.
select
    run_id,
    record_no,
    at_ms,
    event,
    model_id,
    detail
from stg_events
order by run_id, record_no

-- One row per line of type `event` in results.jsonl: what happened to the run, not to one trial.
-- at_ms is null for a folder in the older shape.
select raw_events.*
from raw_events

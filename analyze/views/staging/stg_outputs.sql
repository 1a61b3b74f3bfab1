-- One row per line of type `result` in results.jsonl: its text, superseded ones included.
select raw_outputs.*
from raw_outputs

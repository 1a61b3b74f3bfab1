-- One row per step that has a text, superseded records included.
select raw_step_texts.*
from raw_step_texts

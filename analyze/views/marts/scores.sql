-- One row per trial and number that another tool gave it, of trials of imported runs.
select
    found.run_id,
    trials.provider,
    trials.model,
    trials.thinking_level,
    found.model_id,
    trials.suite_id,
    found.case_id,
    found.repetition,
    found.record_no,
    found.score_name,
    found.score
from int_scores as found
inner join trials
    on found.run_id = trials.run_id
    and found.model_id = trials.model_id
    and found.case_id = trials.case_id
    and found.repetition = trials.repetition
    and found.record_no = trials.record_no
order by
    found.run_id,
    trials.provider,
    trials.model,
    trials.thinking_level nulls first,
    found.model_id,
    found.case_id,
    found.repetition,
    found.score_name

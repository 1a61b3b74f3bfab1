-- One row per line of evaluations.jsonl: whether it is the one that decides its trial.
-- Of the looks at the record that counts the newest decides; one at a record that a later record
-- supersedes is void.
select
    looks.*,
    trials.record_no is not null
    and row_number() over (
        partition by
            looks.run_id, looks.model_id, looks.case_id, looks.repetition, looks.result_no, looks.kind
        order by looks.evaluated_at_ms desc, looks.evaluation_no desc
    ) = 1 as is_current
from stg_evaluations as looks
left join trials
    on looks.run_id = trials.run_id
    and looks.model_id = trials.model_id
    and looks.case_id = trials.case_id
    and looks.repetition = trials.repetition
    and looks.result_no = trials.record_no

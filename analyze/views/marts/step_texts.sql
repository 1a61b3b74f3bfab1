-- One row per step that has a text: what was said, the arguments of a call, what was read of a result.
-- Of the record that counts; at most 65,536 bytes, the trace has all.
-- Its rows are not sorted: there may be millions, and whoever asks for few sorts those.
select
    texts.run_id,
    trials.provider,
    trials.model,
    trials.thinking_level,
    texts.model_id,
    trials.suite_id,
    texts.case_id,
    texts.repetition,
    texts.record_no,
    texts.step_no,
    steps.trajectory,
    steps.turn_no,
    steps.kind,
    steps.role,
    steps.tool,
    steps.is_error,
    texts.text,
    texts.text_truncated
from stg_step_texts as texts
inner join trials
    on texts.run_id = trials.run_id
    and texts.record_no = trials.record_no
inner join stg_steps as steps
    on texts.run_id = steps.run_id
    and texts.record_no = steps.record_no
    and texts.step_no = steps.step_no

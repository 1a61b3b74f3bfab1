-- One row per trial with a result: the text of the record that counts.
-- parsed_output is JSON text, whatever the value was.
select
    trials.run_id,
    trials.provider,
    trials.model,
    trials.thinking_level,
    trials.model_id,
    trials.suite_id,
    trials.case_id,
    trials.repetition,
    trials.record_no,
    trials.passed,
    trials.violation,
    outputs.raw_output,
    trials.raw_output_truncated,
    outputs.parsed_output,
    outputs.error_message,
    trials.output_hash,
    trials.artifact_path
from trials
inner join stg_outputs as outputs
    on trials.run_id = outputs.run_id
    and trials.record_no = outputs.record_no
order by
    trials.run_id,
    trials.provider,
    trials.model,
    trials.thinking_level nulls first,
    trials.model_id,
    trials.case_id,
    trials.repetition

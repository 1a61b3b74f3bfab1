-- One row per trial of a list: the beginning of its answer.
select
    trials.run_id,
    trials.model_id,
    trials.case_id,
    trials.repetition,
    left(outputs.raw_output, ?) as answer
from trials
inner join stg_outputs as outputs
    on trials.run_id = outputs.run_id and trials.record_no = outputs.record_no
where list_contains(
    ?::varchar[][],
    [trials.run_id, trials.model_id, trials.case_id, cast(trials.repetition as varchar)]
)

-- One row per answer of a judge that could be used: the newest of its judge run and iteration, about
-- the record that counts. An answer that was taken over from one of the runs counts there.
{trials},

thresholds as (
    select
        run_id,
        record_no,
        evaluation_profile_id,
        pass_threshold
    from judgements
    where is_current
)

select
    said.evaluation_profile_id,
    said.judge_run_id,
    said.judge_id,
    said.iteration,
    said.run_id,
    said.model_id,
    said.case_id,
    said.repetition,
    trials_of.unit,
    said.requested_model,
    trials_of.model,
    said.overall,
    thresholds.pass_threshold,
    said.verdicts,
    trials_of.n_chars
from judge_iterations as said
inner join trials_of
    on said.run_id = trials_of.run_id and said.record_no = trials_of.record_no
left join thresholds
    on said.run_id = thresholds.run_id
    and said.record_no = thresholds.record_no
    and said.evaluation_profile_id = thresholds.evaluation_profile_id
where
    said.is_current
    and said.failure is null
    and (? is null or said.evaluation_profile_id = ?)
order by
    said.evaluation_profile_id,
    said.judge_run_id,
    said.run_id,
    said.model_id,
    said.suite_id,
    said.case_id,
    said.repetition,
    said.iteration

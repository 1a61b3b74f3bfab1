-- One row per trial with a score: what all judges of an evaluation profile come to.
{trials}

select
    said.evaluation_profile_id,
    '' as judge_run_id,
    '' as judge_id,
    1 as iteration,
    said.run_id,
    said.model_id,
    said.case_id,
    said.repetition,
    trials_of.unit,
    '' as requested_model,
    trials_of.model,
    said.final_score,
    said.pass_threshold,
    said.verdicts,
    trials_of.n_chars
from judgements as said
inner join trials_of
    on said.run_id = trials_of.run_id and said.record_no = trials_of.record_no
where
    said.is_current
    and said.final_score is not null
    and (? is null or said.evaluation_profile_id = ?)
order by
    said.evaluation_profile_id,
    said.run_id,
    said.model_id,
    said.suite_id,
    said.case_id,
    said.repetition

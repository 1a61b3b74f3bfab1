-- One row per judge run and trial with a score: what its iterations come to by the profile's rule.
-- An answer that was taken over from one of the runs counts there.
{trials},

asked as (
    select
        run_id,
        record_no,
        evaluation_profile_id,
        judge_run_id,
        max(requested_model) as requested_model
    from judge_iterations
    where is_current
    group by run_id, record_no, evaluation_profile_id, judge_run_id
),

come_to as (
    select
        found.*,
        unnest(found.judge_runs) as judged
    from judgements as found
    where found.is_current and (? is null or found.evaluation_profile_id = ?)
)

select
    come_to.evaluation_profile_id,
    come_to.judged.judge_run_id,
    come_to.judged.judge_id,
    1 as iteration,
    come_to.run_id,
    come_to.model_id,
    come_to.case_id,
    come_to.repetition,
    trials_of.unit,
    asked.requested_model,
    trials_of.model,
    come_to.judged.opinion.overall as overall,
    come_to.pass_threshold,
    come_to.judged.opinion.verdicts as verdicts,
    trials_of.n_chars
from come_to
inner join trials_of
    on come_to.run_id = trials_of.run_id and come_to.record_no = trials_of.record_no
inner join asked
    on come_to.run_id = asked.run_id
    and come_to.record_no = asked.record_no
    and come_to.evaluation_profile_id = asked.evaluation_profile_id
    and come_to.judged.judge_run_id = asked.judge_run_id
where come_to.judged.opinion is not null
order by
    come_to.evaluation_profile_id,
    come_to.judged.judge_run_id,
    come_to.run_id,
    come_to.model_id,
    come_to.suite_id,
    come_to.case_id,
    come_to.repetition

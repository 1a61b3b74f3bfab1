-- One row per judge run and trial that was asked the same question at two times: its first and its last
-- score, the mean over iterations of each.
{trials},

asked as (
    select
        said.run_id,
        said.result_no,
        said.evaluation_profile_id,
        said.judge_run_id,
        said.judge_id,
        said.iteration,
        arg_min(said.overall, said.evaluation_no) as first_score,
        arg_max(said.overall, said.evaluation_no) as last_score,
        arg_min(said.served_model, said.evaluation_no) as first_model,
        arg_max(said.served_model, said.evaluation_no) as last_model,
        min(said.evaluated_at_ms) as first_ms,
        max(said.evaluated_at_ms) as last_ms
    from stg_judge_iterations as said
    semi join chosen on said.run_id = chosen.run_id
    where said.failure is null and (? is null or said.evaluation_profile_id = ?)
    group by
        said.run_id,
        said.result_no,
        said.evaluation_profile_id,
        said.judge_run_id,
        said.judge_id,
        said.iteration,
        said.question_hash
    having count(*) > 1
)

select
    asked.evaluation_profile_id,
    asked.judge_run_id,
    asked.judge_id,
    trials_of.unit,
    avg(asked.first_score) as first_score,
    avg(asked.last_score) as last_score,
    min(asked.first_ms) as first_ms,
    max(asked.last_ms) as last_ms,
    min(asked.first_model) as first_model,
    max(asked.last_model) as last_model
from asked
inner join trials_of
    on asked.run_id = trials_of.run_id and asked.result_no = trials_of.record_no
group by
    asked.evaluation_profile_id,
    asked.judge_run_id,
    asked.judge_id,
    trials_of.unit,
    asked.run_id,
    asked.result_no
order by
    asked.evaluation_profile_id,
    asked.judge_run_id,
    trials_of.unit,
    asked.run_id,
    asked.result_no

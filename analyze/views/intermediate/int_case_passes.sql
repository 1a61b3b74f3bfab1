-- One row per run, model_id and case that was planned.
-- n_scored and n_passed are m and k of the interval of a rate. A reused answer has a verdict but
-- is no new draw, so the independent counts leave it out.
-- Answers are compared among successes: two time-outs with empty text are not identical answers.
-- Plans and results are counted apart and then joined: no trial is joined with its plan.
with

planned as (
    select
        run_id,
        model_id,
        case_id,
        min(cluster) as cluster,
        count(*) as n_planned,
        count(case when is_scorable then 1 end) as n_scorable
    from stg_plans
    group by run_id, model_id, case_id
),

answered as (
    select
        run_id,
        model_id,
        case_id,
        count(passed) as n_scored,
        count(case when passed then 1 end) as n_passed,
        count(case when is_measured then passed end) as n_independent,
        count(case when is_measured and passed then 1 end) as n_independent_passed,
        count(case when is_measured and is_success then 1 end) as n_answers,
        count(case when is_measured and not is_success then passed end) as n_failed_answers,
        min(case when is_measured and is_success then output_hash end) as first_hash,
        max(case when is_measured and is_success then output_hash end) as last_hash
    from trials
    group by run_id, model_id, case_id
)

select
    planned.run_id,
    planned.model_id,
    planned.case_id,
    planned.cluster,
    planned.n_planned,
    planned.n_scorable,
    coalesce(answered.n_scored, 0) as n_scored,
    coalesce(answered.n_passed, 0) as n_passed,
    coalesce(answered.n_independent, 0) as n_independent,
    coalesce(answered.n_independent_passed, 0) as n_independent_passed,
    coalesce(answered.n_answers >= 2, false) as is_repeated,
    coalesce(
        answered.n_answers >= 2
        and answered.n_failed_answers = 0
        and answered.first_hash = answered.last_hash,
        false
    ) as is_identical
from planned
left join answered
    on planned.run_id = answered.run_id
    and planned.model_id = answered.model_id
    and planned.case_id = answered.case_id

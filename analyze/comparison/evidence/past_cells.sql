with

planned as (
    select
        run_id,
        model_id,
        suite_id,
        case_id,
        min(case_hash) as case_hash,
        min(cluster) as cluster,
        count(case when is_scorable then 1 end) as n_scorable
    from stg_plans
    where {runs} and {models}
    group by all
),

came as (
    select
        run_id,
        model_id,
        suite_id,
        case_id,
        passed,
        case when is_measured then passed end as own_passed,
        case when is_measured and is_success then output_hash end as answer_hash,
        case when is_measured and not is_success and passed is not null then 1 end as failed_answer,
        {logs}
    from trials
    where {runs} and {models}
),

counted as (
    select
        run_id,
        model_id,
        suite_id,
        case_id,
        count(passed) as n_scored,
        count(case when own_passed then 1 end) as k,
        count(own_passed) as m,
        count(answer_hash) as n_answers,
        count(failed_answer) as n_failed_answers,
        min(answer_hash) as first_hash,
        max(answer_hash) as last_hash,
        n_answers > 1 and n_failed_answers = 0
        and first_hash = last_hash and k in (0, m) as is_same,
        {means},
        case when ? then [{sums}] end as sums
    from came
    group by all
)

select
    planned.run_id,
    planned.model_id,
    planned.suite_id,
    planned.case_id,
    planned.case_hash,
    planned.cluster,
    planned.n_scorable,
    coalesce(counted.n_scored, 0),
    coalesce(case when counted.is_same then least(counted.k, 1) else counted.k end, 0),
    coalesce(case when counted.is_same then least(counted.m, 1) else counted.m end, 0),
    coalesce(counted.k, 0),
    coalesce(counted.m, 0),
    coalesce(counted.n_answers, 0),
    coalesce(counted.n_failed_answers, 0),
    counted.first_hash,
    counted.last_hash,
    {names},
    counted.sums
from planned
left join counted
    on planned.run_id = counted.run_id
    and planned.model_id = counted.model_id
    and planned.suite_id = counted.suite_id
    and planned.case_id = counted.case_id
order by planned.run_id, planned.model_id, planned.case_id

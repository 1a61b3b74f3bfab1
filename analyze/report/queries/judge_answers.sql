-- One row per evaluation profile, judge and kind of question: how many it was asked, and what came
-- of them.
with asked as (
    select
        evaluation_profile_id,
        judge_id,
        'score' as question,
        failure,
        cost_nano_usd
    from judge_iterations
    where run_id = $1 and reused_from_run_id is null
    union all
    select
        evaluation_profile_id,
        judge_id,
        'pair' as question,
        failure,
        cost_nano_usd
    from pair_iterations
    where run_id = $1
)

select
    evaluation_profile_id,
    judge_id,
    question,
    count(*) as n_asked,
    count(*) filter (where failure is null) as n_answered,
    count(*) filter (where failure = 'refusal') as n_refusal,
    count(*) filter (where failure = 'invalid') as n_invalid,
    count(*) filter (where failure = 'truncated') as n_truncated,
    count(*) filter (where failure = 'no_response') as n_no_response,
    count(*) filter (where failure = 'judge_down') as n_judge_down,
    cast(sum(cost_nano_usd) as double) / 1e9 as cost_usd,
    count(cost_nano_usd) as n_cost_known
from asked
group by evaluation_profile_id, judge_id, question
order by evaluation_profile_id, judge_id, question desc

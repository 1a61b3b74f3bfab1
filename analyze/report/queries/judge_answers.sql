-- One row per evaluation profile and judge: how many questions it was asked, and what came of them.
select
    evaluation_profile_id,
    judge_id,
    count(*) as n_asked,
    count(*) filter (where failure is null) as n_answered,
    count(*) filter (where failure = 'refusal') as n_refusal,
    count(*) filter (where failure = 'invalid') as n_invalid,
    count(*) filter (where failure = 'truncated') as n_truncated,
    count(*) filter (where failure = 'no_response') as n_no_response,
    count(*) filter (where failure = 'judge_down') as n_judge_down,
    cast(sum(cost_nano_usd) as double) / 1e9 as cost_usd,
    count(cost_nano_usd) as n_cost_known
from judge_iterations
where run_id = ?
group by evaluation_profile_id, judge_id
order by evaluation_profile_id, judge_id

-- One row per run in whose verdicts judges have a say: those of the profile that is asked for (D-A9).
-- A run that it never judged is one of them, its verdicts are open; not one that it judged without a
-- threshold. Where its newest judgements are of several ways to judge, they are all named.
with newest as (
    select
        run_id,
        judge_hash,
        pass_threshold,
        row_number() over (
            partition by run_id, model_id, case_id, repetition, result_no
            order by evaluated_at_ms desc, record_no desc
        ) as age
    from ({judgements})
    where evaluation_profile_id = {profile}
),
said as (
    select
        run_id,
        string_agg(distinct judge_hash, '+' order by judge_hash) as judge_hash,
        count(pass_threshold) as n_deciding
    from newest
    where age = 1
    group by run_id
)
select
    runs.run_id,
    {profile} as evaluation_profile_id,
    said.judge_hash
from (select distinct run_id from ({runs})) as runs
left join said on runs.run_id = said.run_id
where said.run_id is null or said.n_deciding > 0

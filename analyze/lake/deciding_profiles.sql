-- One row per run in whose verdicts judges have a say: those of its own evaluation profile (D-A9).
select
    run_id,
    evaluation_profile_id,
    judge_hash
from (
    select
        run_id,
        evaluation_profile_id,
        judge_hash,
        row_number() over (partition by run_id order by recorded_at_ms desc) as age
    from ({runs})
)
where age = 1 and judge_hash is not null

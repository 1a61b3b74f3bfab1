-- One row per check and model: how the checks that decide verdicts went; those that failed most.
with

counted as (
    select
        model_id,
        check_id,
        min(kind) as kind,
        count(distinct case_id) as n_cases,
        count(*) as n_trials,
        count(case when outcome = 'passed' then 1 end) as n_passed,
        count(case when outcome = 'failed' then 1 end) as n_failed,
        count(case when outcome = 'error' then 1 end) as n_errors
    from checks
    where run_id = ? and is_current
    group by model_id, check_id
)

select *
from counted
order by n_failed + n_errors desc, check_id, model_id
limit ?

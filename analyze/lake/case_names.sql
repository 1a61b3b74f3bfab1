-- One row per run and case that has a newer id than its run wrote.
with acts as (
    select
        suite_id,
        old_case_id,
        case_id,
        row_number() over (
            partition by suite_id, old_case_id
            order by recorded_at_ms desc, case_id desc nulls last
        ) as age
    from {aliases}
),
newest as (
    select suite_id, old_case_id, case_id from acts where age = 1 and case_id is not null
),
concerned as (
    select suite_id, old_case_id as case_id from newest
    union
    select suite_id, case_id from newest
),
written as (
    select distinct plans.run_id, plans.suite_id, plans.case_id as written_id
    from {plans} as plans
    semi join concerned
        on plans.suite_id = concerned.suite_id and plans.case_id = concerned.case_id
),
named as (
    select
        written.run_id,
        written.written_id,
        coalesce(newest.case_id, written.written_id) as case_id
    from written
    left join newest
        on written.suite_id = newest.suite_id and written.written_id = newest.old_case_id
)
select run_id, written_id, case_id
from (select *, count(*) over (partition by run_id, case_id) as n_ids from named)
where n_ids = 1 and written_id <> case_id

-- One row per suite and case to which the newest run that planned it gave a cluster.
-- Cases of one cluster are not independent of each other. A case may be moved from one to another
-- without being another case, so over several runs the newest one decides, also that it has none.
-- Runs without a known start come before the others, and the same start goes by the name.
with

marked as (
    select distinct
        suite_id,
        case_id
    from stg_plans
    where cluster is not null
),

asked as (
    select
        plans.suite_id,
        plans.case_id,
        plans.run_id,
        max(plans.cluster) as cluster
    from stg_plans as plans
    inner join marked
        on plans.suite_id = marked.suite_id
        and plans.case_id = marked.case_id
    group by plans.suite_id, plans.case_id, plans.run_id
),

aged as (
    select
        asked.suite_id,
        asked.case_id,
        asked.cluster,
        row_number() over (
            partition by asked.suite_id, asked.case_id
            order by started.started_at_ms desc nulls last, asked.run_id desc
        ) as age
    from asked
    left join stg_runs as started
        on asked.run_id = started.run_id
)

select
    suite_id,
    case_id,
    cluster
from aged
where age = 1 and cluster is not null

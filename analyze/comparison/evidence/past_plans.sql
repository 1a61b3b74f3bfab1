with

described as materialized (
    select
        run_id,
        suite_id,
        coalesce('group ' || run_group, 'run ' || run_id) as plan,
        started_at_ms,
        {judged} as is_judged,
        {sides} as is_of_side
    from stg_runs
),

plans as (
    select
        suite_id,
        coalesce(max(started_at_ms), -1) as moment,
        max(run_id) as name,
        list(run_id order by run_id) as run_ids,
        list(started_at_ms) as starts,
        bool_or(is_judged) as is_judged,
        bool_or(is_of_side) as is_of_side
    from described
    where suite_id in (select suite_id from described where is_of_side)
    group by suite_id, plan
),

judged as (
    select suite_id, min((moment, name)) as place from plans where is_judged group by all
)

select
    plans.suite_id,
    plans.run_ids,
    plans.starts,
    coalesce((plans.moment, plans.name) < judged.place, false) as is_before
from plans
left join judged on plans.suite_id = judged.suite_id
where is_before or plans.is_of_side
qualify plans.is_of_side or row_number() over (
    partition by plans.suite_id, is_before order by plans.moment desc, plans.name desc
) <= ?
order by plans.moment, plans.name

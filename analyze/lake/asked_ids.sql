with asked as (
    select suite_id, case_hash, case_id, run_id
    from raw_plans
    where case_hash is not null and (suite_id = $suite or $suite is null)
    group by suite_id, case_hash, case_id, run_id
),
several as (
    select suite_id, case_hash
    from asked
    group by suite_id, case_hash
    having min(case_id) <> max(case_id)
),
ordered as (
    select run_id, row_number() over (order by started_at_ms nulls first, run_id) as place
    from (select run_id, max(started_at_ms) as started_at_ms from raw_runs group by run_id)
)
select suite_id, case_hash, case_id, list(place)
from asked
inner join several using (suite_id, case_hash)
inner join ordered using (run_id)
group by suite_id, case_hash, case_id

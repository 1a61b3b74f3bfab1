-- One row per run: what was asked, and which run of the same suite came before.
-- How it went stands in run_summary.
with

ordered as (
    select
        stg_runs.*,
        row_number() over (
            partition by suite_id
            order by started_at_ms nulls first, run_id
        ) as run_no,
        lag(run_id) over (
            partition by suite_id
            order by started_at_ms nulls first, run_id
        ) as previous_run_id
    from stg_runs
)

select
    ordered.run_id,
    suite_id,
    suite_title,
    run_profile_id,
    run_group,
    labels,
    started_at_ms,
    started_at,
    benchlake_version,
    n_planned,
    max_cost_usd,
    ordered.evaluation_profile_id,
    deciding.evaluation_profile_id as deciding_profile_id,
    deciding.judge_hash,
    machine,
    is_imported,
    is_narrowed,
    cast(run_no as bigint) as run_no,
    previous_run_id
from ordered
left join stg_deciding_profiles as deciding on ordered.run_id = deciding.run_id
order by started_at_ms nulls first, ordered.run_id

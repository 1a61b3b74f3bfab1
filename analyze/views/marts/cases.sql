-- One row per suite, case and case_hash: a case whose content changed is another case.
-- What is outside the hash (title) may differ between runs; the last in alphabetical order is
-- shown. A null case_hash, of folders in the older shape, is a row of its own and equals nothing.
-- The cluster is the one of the newest run, whatever content it asked.
-- The last run is that of the highest run_rank, so runs with the same start have an order here too.
with

run_order as (
    select
        run_id,
        min(started_at_ms) as started_at_ms,
        min(run_rank) as run_rank
    from int_group_models
    group by run_id
),

asked as (
    select
        suite_id,
        case_id,
        case_hash,
        run_id,
        max(prompt_id) as prompt_id,
        max(prompt_name) as prompt_name,
        max(validator_type) as validator_type,
        max(case when is_scorable then 1 else 0 end) as scorable,
        max(case when has_expected_tools then 1 else 0 end) as with_tools,
        count(*) as n_planned
    from stg_plans
    group by suite_id, case_id, case_hash, run_id
),

described as (
    select
        asked.suite_id,
        asked.case_id,
        asked.case_hash,
        max(asked.prompt_id) as prompt_id,
        max(asked.prompt_name) as prompt_name,
        max(asked.validator_type) as validator_type,
        max(asked.scorable) = 1 as is_scorable,
        max(asked.with_tools) = 1 as has_expected_tools,
        count(*) as n_runs,
        cast(sum(asked.n_planned) as bigint) as n_planned,
        min(placed.started_at_ms) as first_run_at_ms,
        max(placed.started_at_ms) as last_run_at_ms,
        max(placed.run_rank) as last_run_rank
    from asked
    inner join run_order as placed
        on asked.run_id = placed.run_id
    group by asked.suite_id, asked.case_id, asked.case_hash
),

aged as (
    select
        suite_id,
        case_id,
        case_hash,
        prompt_id,
        prompt_name,
        validator_type,
        is_scorable,
        has_expected_tools,
        n_runs,
        n_planned,
        first_run_at_ms,
        last_run_at_ms,
        row_number() over (
            partition by suite_id, case_id
            order by last_run_rank desc, case_hash desc nulls last
        ) as age
    from described
)

select
    aged.suite_id,
    aged.case_id,
    aged.case_hash,
    aged.prompt_id,
    aged.prompt_name,
    aged.validator_type,
    aged.is_scorable,
    aged.has_expected_tools,
    clusters.cluster,
    aged.n_runs,
    aged.n_planned,
    aged.first_run_at_ms,
    aged.last_run_at_ms,
    aged.age = 1 as is_current
from aged
left join int_case_clusters as clusters
    on aged.suite_id = clusters.suite_id
    and aged.case_id = clusters.case_id
order by aged.suite_id, aged.case_id, aged.case_hash nulls first

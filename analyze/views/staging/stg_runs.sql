-- One row per run, as it was last described.
-- Labelling a run adds a row to the lake; the row with the highest recorded_at_ms counts.
select
    run_id,
    suite_id,
    suite_title,
    run_profile_id,
    run_group,
    labels,
    started_at_ms,
    case
        -- beyond the year 9999 no client has a word for it
        when started_at_ms < 253402300800000
            then timestamp '1970-01-01 00:00:00'
                + cast((started_at_ms - started_at_ms % 86400000) / 86400000 as int) * interval '1' day
                + cast(started_at_ms % 86400000 as int) * interval '1' millisecond
    end as started_at,
    benchlake_version,
    n_planned,
    max_cost_usd,
    evaluation_profile_id,
    judge_hash,
    machine,
    model_labels,
    is_imported,
    is_narrowed,
    recorded_at_ms
from (
    select
        *,
        row_number() over (
            partition by run_id
            order by recorded_at_ms desc, cast(labels as string) desc
        ) as age
    from raw_runs
) as descriptions
where age = 1

-- One row per line of type `result` in results.jsonl, superseded ones included.
-- Every column of a line, and what follows from it. Money becomes integer nano-dollars, so that sums
-- do not depend on the order of rows.
-- is_measured: asked in this run, not taken from an older one; only such rows have a time and cost.
-- Whether a trial can get a verdict stands in its plan alone (stg_plans): a failed trial has no
-- checks that would tell.
select
    raw_results.*,
    cardinality(expected_tools) > 0 as has_expected_tools,
    reused_from_run_id is not null as is_reused,
    reused_from_run_id is null as is_measured,
    availability_status = 'ok' as is_ok,
    availability_status = 'ok' and success as is_success,
    case
        -- beyond the year 9999 no client has a word for it
        when started_at_ms < 253402300800000
            then timestamp '1970-01-01 00:00:00'
                + cast((started_at_ms - started_at_ms % 86400000) / 86400000 as int) * interval '1' day
                + cast(started_at_ms % 86400000 as int) * interval '1' millisecond
    end as started_at,
    cast(round(cost_usd * 1e9) as bigint) as cost_nano_usd
from raw_results

select
    run_id,
    case
        when count(elapsed_ms) = count(*) then max(elapsed_ms)
        when max(ended_at_ms) >= min(started_at_ms)
            then cast(max(ended_at_ms) - min(started_at_ms) - coalesce(sum(pause_ms), 0) as bigint)
    end
from (
    select
        *,
        case when idle_ms > ? then idle_ms end as pause_ms
    from (
        select
            run_id,
            started_at_ms,
            ended_at_ms,
            elapsed_ms,
            started_at_ms - max(ended_at_ms) over (
                partition by run_id
                order by started_at_ms, record_no
                rows between unbounded preceding and 1 preceding
            ) as idle_ms
        from stg_results
        where is_measured and {among}
    )
)
group by run_id

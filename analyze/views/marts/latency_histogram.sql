-- One row per run, provider, model, thinking level, model_id, metric and bin that holds a trial.
-- Of successes made in this run, as all statistics of latency; metric is e2e_ms or ttft_ms. A bin
-- holds its lower end and not its upper one; it is 5 ms wide below 100 ms, 50 below 1 s, and so on ten
-- times as wide from each power of ten to the next, at most 50,000,000 ms, so that a chart needs a few
-- hundred rows however many trials there were.
with

times as (
    select
        run_id,
        model_id,
        'e2e_ms' as metric,
        e2e_ms as time_ms
    from trials
    where is_measured and is_success and e2e_ms is not null

    union all

    select
        run_id,
        model_id,
        'ttft_ms' as metric,
        ttft_ms as time_ms
    from trials
    where is_measured and is_success and ttft_ms is not null
),

widths as (
    select
        run_id,
        model_id,
        metric,
        time_ms,
        case
            when time_ms < 100 then 5
            when time_ms < 1000 then 50
            when time_ms < 10000 then 500
            when time_ms < 100000 then 5000
            when time_ms < 1000000 then 50000
            when time_ms < 10000000 then 500000
            when time_ms < 100000000 then 5000000
            else 50000000
        end as width_ms
    from times
),

bins as (
    select
        run_id,
        model_id,
        metric,
        cast(time_ms - time_ms % width_ms as bigint) as bin_from_ms,
        cast(time_ms - time_ms % width_ms + width_ms as bigint) as bin_to_ms
    from widths
),

counts as (
    select
        run_id,
        model_id,
        metric,
        bin_from_ms,
        bin_to_ms,
        count(*) as n_trials
    from bins
    group by run_id, model_id, metric, bin_from_ms, bin_to_ms
)

select
    counts.run_id,
    model_groups.provider,
    model_groups.model,
    model_groups.thinking_level,
    counts.model_id,
    counts.metric,
    counts.bin_from_ms,
    counts.bin_to_ms,
    counts.n_trials
from counts
inner join int_run_models as model_groups
    on counts.run_id = model_groups.run_id
    and counts.model_id = model_groups.model_id
order by
    counts.run_id,
    model_groups.provider,
    model_groups.model,
    model_groups.thinking_level nulls first,
    counts.model_id,
    counts.metric,
    counts.bin_from_ms

-- One row per run, provider, model, thinking level, model_id and bin of e2e_ms that holds a trial.
-- Of successes made in this run, as all statistics of latency. A bin holds its lower end and not its
-- upper one; it is 5 ms wide below 100 ms, 50 below 1 s, 500 below 10 s, 5,000 below 100 s and 50,000
-- from there on, so that a chart needs a few hundred rows however many trials there were.
with

widths as (
    select
        run_id,
        model_id,
        e2e_ms,
        case
            when e2e_ms < 100 then 5
            when e2e_ms < 1000 then 50
            when e2e_ms < 10000 then 500
            when e2e_ms < 100000 then 5000
            else 50000
        end as width_ms
    from trials
    where is_measured and is_success and e2e_ms is not null
),

bins as (
    select
        run_id,
        model_id,
        cast(e2e_ms - e2e_ms % width_ms as bigint) as bin_from_ms,
        cast(e2e_ms - e2e_ms % width_ms + width_ms as bigint) as bin_to_ms
    from widths
),

counts as (
    select
        run_id,
        model_id,
        bin_from_ms,
        bin_to_ms,
        count(*) as n_trials
    from bins
    group by run_id, model_id, bin_from_ms, bin_to_ms
)

select
    counts.run_id,
    model_groups.provider,
    model_groups.model,
    model_groups.thinking_level,
    counts.model_id,
    counts.bin_from_ms,
    counts.bin_to_ms,
    counts.n_trials
from counts
inner join int_group_models as model_groups
    on counts.run_id = model_groups.run_id
    and counts.model_id = model_groups.model_id
order by
    counts.run_id,
    model_groups.provider,
    model_groups.model,
    model_groups.thinking_level nulls first,
    counts.model_id,
    counts.bin_from_ms

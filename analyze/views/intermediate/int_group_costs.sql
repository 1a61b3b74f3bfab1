-- One row per run and model_id: what its verdicts are, and what the trials with a known cost came to.
-- Money is of trials made in this run, so what it bought is counted over the same trials: n_priced_
-- columns leave out reused trials and those whose cost nobody knows.
with

priced as (
    select
        run_id,
        model_id,
        passed,
        case when is_measured and cost_nano_usd is not null then passed end as priced_passed,
        case when is_measured then cost_nano_usd end as cost_nano_usd,
        case when is_measured and is_success then e2e_ms end as e2e_ms
    from trials
)

select
    run_id,
    model_id,
    count(passed) as n_scored,
    count(case when passed then 1 end) as n_passed,
    count(cost_nano_usd) as n_cost_known,
    count(priced_passed) as n_priced_scored,
    count(case when priced_passed then 1 end) as n_priced_passed,
    cast(sum(cost_nano_usd) as bigint) as cost_nano_usd,
    count(e2e_ms) as n_latency,
    cast(sum(e2e_ms) as bigint) as e2e_ms_total
from priced
group by run_id, model_id

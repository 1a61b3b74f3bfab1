-- One row per case (suite_id, case_id, case_hash), provider, model, thinking level and model_id.
-- Over all runs. Verdicts are of all trials, reused ones too; time and cost of those that are not
-- reused. Where case_hash is not known, cases that only share their name lie in one row.
with

matrix as (
    select
        suite_id,
        case_id,
        case_no,
        provider,
        model,
        thinking_level,
        model_id,
        count(*) as n_runs,
        min(started_at_ms) as first_started_at_ms,
        max(started_at_ms) as last_started_at_ms,
        cast(sum(n_planned) as bigint) as n_planned,
        cast(sum(n_total) as bigint) as n_total,
        cast(sum(n_reused) as bigint) as n_reused,
        cast(sum(n_scorable) as bigint) as n_scorable,
        cast(sum(n_scored) as bigint) as n_scored,
        cast(sum(n_passed) as bigint) as n_passed,
        cast(sum(n_latency) as bigint) as n_latency,
        cast(sum(e2e_ms_total) as bigint) as e2e_ms_total,
        cast(sum(n_cost_known) as bigint) as n_cost_known,
        cast(sum(cost_nano_usd) as bigint) as cost_nano_usd
    from int_cell_counts
    group by suite_id, case_id, case_no, provider, model, thinking_level, model_id
)

select
    suite_id,
    case_id,
    hashes.case_hash,
    provider,
    model,
    thinking_level,
    model_id,
    n_runs,
    first_started_at_ms,
    last_started_at_ms,
    n_planned,
    n_total,
    n_reused,
    n_scorable,
    n_scored,
    n_passed,
    cast(n_passed as double) / nullif(n_scored, 0) as passed_rate,
    cast(n_scored as double) / nullif(n_scorable, 0) as coverage,
    n_latency,
    cast(e2e_ms_total as double) / nullif(n_latency, 0) as e2e_ms_mean,
    n_cost_known,
    cost_nano_usd,
    cast(cost_nano_usd as double) / 1e9 as cost_usd
from matrix
left join int_cell_hashes as hashes
    on matrix.case_no = hashes.case_no
order by
    suite_id,
    case_id,
    hashes.case_hash nulls first,
    provider,
    model,
    thinking_level nulls first,
    model_id

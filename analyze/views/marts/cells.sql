-- One row per run and cell (suite_id, case_id, model_id).
-- Verdicts are of all trials, reused ones too; time, tokens and cost of those made in this run, and
-- time of successes only. Sums are of integers and divided once.
select
    run_id,
    suite_id,
    provider,
    model,
    thinking_level,
    model_id,
    case_id,
    hashes.case_hash,
    started_at_ms,
    started_at,
    n_planned,
    n_total,
    n_ok,
    n_success,
    n_first_attempt,
    n_reused,
    n_scorable,
    n_scored,
    n_passed,
    cast(n_passed as double) / nullif(n_scored, 0) as passed_rate,
    -- a tie is no majority
    case
        when 2 * n_passed > n_scored then true
        when 2 * n_passed < n_scored then false
    end as majority_passed,
    n_latency,
    e2e_ms_total,
    cast(e2e_ms_total as double) / nullif(n_latency, 0) as e2e_ms_mean,
    n_ttft,
    ttft_ms_total,
    cast(ttft_ms_total as double) / nullif(n_ttft, 0) as ttft_ms_mean,
    n_tokens_known,
    input_tokens,
    output_tokens,
    reasoning_tokens,
    cached_input_tokens,
    n_cost_known,
    cost_nano_usd,
    cast(cost_nano_usd as double) / 1e9 as cost_usd
from int_cell_counts
left join int_cell_hashes as hashes
    on int_cell_counts.case_no = hashes.case_no
order by
    run_id, suite_id, provider, model, thinking_level nulls first, model_id, case_id

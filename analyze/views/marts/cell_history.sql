-- One row per cell and run that planned it, in order of time: the history of a cell.
-- The previous run is the one before it that planned the cell; is_same_case says whether it asked
-- the same. An unknown case_hash equals nothing, not even another unknown one.
select
    suite_id,
    case_id,
    provider,
    model,
    thinking_level,
    model_id,
    run_no,
    run_id,
    started_at_ms,
    started_at,
    hashes.case_hash,
    n_planned,
    n_total,
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
    cast(e2e_ms_total as double) / nullif(n_latency, 0) as e2e_ms_mean,
    n_cost_known,
    cast(cost_nano_usd as double) / 1e9 as cost_usd,
    previous_run_id,
    previous_started_at_ms,
    previous_n_scored,
    previous_n_passed,
    case
        when run_no > 1 then coalesce(int_cell_pairs.case_no = previous_case_no, false)
    end as is_same_case
from int_cell_pairs
left join int_cell_hashes as hashes
    on int_cell_pairs.case_no = hashes.case_no
order by suite_id, case_id, provider, model, thinking_level nulls first, model_id, run_no

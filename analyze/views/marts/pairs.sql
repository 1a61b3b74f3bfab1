-- One row per cell and two consecutive runs of it: the run, and the one before it that planned it.
-- A cell keeps its name when its case is edited, so a difference means something where is_same_case;
-- an unknown case_hash equals nothing, not even another unknown one.
-- Differences and ratios are this run against the previous one, null where a side has no number.
select
    suite_id,
    case_id,
    provider,
    model,
    thinking_level,
    model_id,
    run_no,
    run_id,
    previous_run_id,
    started_at_ms,
    started_at,
    previous_started_at_ms,
    coalesce(case_no = previous_case_no, false) as is_same_case,

    ---------- verdicts
    n_planned,
    previous_n_planned,
    n_total,
    previous_n_total,
    n_reused,
    previous_n_reused,
    n_scorable,
    previous_n_scorable,
    n_scored,
    previous_n_scored,
    n_passed,
    previous_n_passed,
    cast(n_passed as double) / nullif(n_scored, 0) as passed_rate,
    cast(previous_n_passed as double) / nullif(previous_n_scored, 0) as previous_passed_rate,
    cast(n_passed as double) / nullif(n_scored, 0)
        - cast(previous_n_passed as double) / nullif(previous_n_scored, 0)
        as passed_rate_difference,

    ---------- time of successes and cost, of trials made in the run itself
    n_latency,
    previous_n_latency,
    cast(e2e_ms_total as double) / nullif(n_latency, 0) as e2e_ms_mean,
    cast(previous_e2e_ms_total as double) / nullif(previous_n_latency, 0) as previous_e2e_ms_mean,
    cast(e2e_ms_total as double) * previous_n_latency
        / nullif(cast(previous_e2e_ms_total as double) * n_latency, 0) as e2e_ms_ratio,
    n_cost_known,
    previous_n_cost_known,
    cast(cost_nano_usd as double) / 1e9 as cost_usd,
    cast(previous_cost_nano_usd as double) / 1e9 as previous_cost_usd
from int_cell_pairs
where run_no > 1
order by suite_id, case_id, provider, model, thinking_level nulls first, model_id, run_no

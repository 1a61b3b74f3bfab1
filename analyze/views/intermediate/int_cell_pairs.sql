-- One row per run and cell, beside the same cell in the run before it that planned it too.
-- A cell is the same with the same case_id and series_no: suite_id, model_id, provider, model and
-- thinking level. Runs stand in order of run_rank; those that lack the cell are passed over.
-- The columns of the previous run are null in the first one (run_no 1). A window and no join of runs
-- with runs, which would not end over a long history.
select
    run_id,
    suite_id,
    provider,
    model,
    thinking_level,
    model_id,
    case_id,
    case_no,
    started_at_ms,
    started_at,
    n_planned,
    n_scorable,
    n_total,
    n_reused,
    n_scored,
    n_passed,
    n_latency,
    e2e_ms_total,
    n_cost_known,
    cost_nano_usd,
    row_number() over cell_runs as run_no,
    lag(run_id) over cell_runs as previous_run_id,
    lag(case_no) over cell_runs as previous_case_no,
    lag(started_at_ms) over cell_runs as previous_started_at_ms,
    lag(n_planned) over cell_runs as previous_n_planned,
    lag(n_scorable) over cell_runs as previous_n_scorable,
    lag(n_total) over cell_runs as previous_n_total,
    lag(n_reused) over cell_runs as previous_n_reused,
    lag(n_scored) over cell_runs as previous_n_scored,
    lag(n_passed) over cell_runs as previous_n_passed,
    lag(n_latency) over cell_runs as previous_n_latency,
    lag(e2e_ms_total) over cell_runs as previous_e2e_ms_total,
    lag(n_cost_known) over cell_runs as previous_n_cost_known,
    lag(cost_nano_usd) over cell_runs as previous_cost_nano_usd
from int_cell_counts
window cell_runs as (
    partition by case_id, series_no
    order by run_rank
)

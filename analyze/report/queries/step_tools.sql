-- One row per model and tool that it called: how often calls failed; the most called ones.
with

ranked as (
    select
        *,
        row_number() over (order by n_calls desc, model_id, tool) as place,
        count(*) over () as n_rows
    from tool_errors
    where run_id = ?
)

select
    model_id,
    tool,
    n_cases,
    n_calls,
    n_results,
    n_errors,
    n_refused,
    n_exit_codes,
    n_truncated,
    duration_ms,
    error_rate,
    error_rate_low,
    error_rate_high,
    n_rows
from ranked
where place <= ?
order by model_id, n_calls desc, tool

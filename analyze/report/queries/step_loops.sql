-- One row per model and tool that its loops began with; those with the most calls.
with

counted as (
    select
        model_id,
        tool,
        count(*) as n_loops,
        count(distinct record_no) as n_trials,
        cast(sum(n_calls) as bigint) as n_calls,
        cast(sum(tool_ms) as bigint) as tool_ms,
        cast(sum(model_ms) as bigint) as model_ms,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens,
        sum(cost_usd) as cost_usd
    from loops
    where run_id = ?
    group by model_id, tool
),

ranked as (
    select
        *,
        row_number() over (order by n_calls desc, model_id, tool) as place,
        count(*) over () as n_rows
    from counted
)

select
    model_id,
    tool,
    n_loops,
    n_trials,
    n_calls,
    tool_ms,
    model_ms,
    input_tokens,
    output_tokens,
    cost_usd,
    n_rows
from ranked
where place <= ?
order by model_id, n_calls desc, tool

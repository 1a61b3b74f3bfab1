-- One row per run, provider, model, thinking level and model_id.
-- Rates are null, not zero, where nothing could be counted. Latency is that of successes; latency,
-- tokens, cost and wall clock are of trials made in this run, verdicts of reused ones too.
-- In the percentiles a time-out that counts against the model is later than every success: 1e300 ms,
-- whatever the limit was. A percentile that reaches into them is beyond the time limit: null. Without
-- a success whose first token was timed, nothing is known of first tokens.
-- Sums are of integers and divided once, so a row does not depend on the order of its trials.
-- Trials are counted by themselves and then joined with the counts of the plan, a row a group.
with

measured as (
    select
        run_id,
        model_id,
        availability_status,
        failure_type,
        is_ok,
        is_success,
        is_reused,
        passed,
        case when is_success then objective_pass end as objective_pass,
        case when has_expected_tools and is_ok then tool_use_success end as tool_use_success,
        case when is_measured then started_at_ms end as started_at_ms,
        case when is_measured then ended_at_ms end as ended_at_ms,
        case when is_measured and is_success then e2e_ms end as e2e_ms,
        case when is_measured and is_success then ttft_ms end as ttft_ms,
        is_measured and failure_type = 'timeout' and not passed as is_late,
        case
            when is_measured and failure_type = 'timeout' and not passed then 1e300
            when is_measured and is_success then cast(e2e_ms as double)
        end as e2e_rank,
        case
            when is_measured and failure_type = 'timeout' and not passed then 1e300
            when is_measured and is_success then cast(ttft_ms as double)
        end as ttft_rank,
        case when is_measured then input_tokens end as input_tokens,
        case when is_measured then output_tokens end as output_tokens,
        case when is_measured then reasoning_tokens end as reasoning_tokens,
        case when is_measured then cached_input_tokens end as cached_input_tokens,
        case when is_measured then cost_nano_usd end as cost_nano_usd
    from trials
),

counted as (
    select
        run_id,
        model_id,
        count(*) as n_total,
        count(case when is_ok then 1 end) as n_ok,
        count(case when is_success then 1 end) as n_success,
        count(case when is_reused then 1 end) as n_reused,
        count(case when availability_status = 'skipped_unavailable' then 1 end)
            as n_skipped_unavailable,
        count(case when availability_status = 'auth_error' then 1 end) as n_auth_error,
        count(case when availability_status = 'rate_limited' then 1 end) as n_rate_limited,
        count(case when availability_status = 'error' then 1 end) as n_error,
        count(case when failure_type = 'timeout' then 1 end) as n_timeout,
        count(passed) as n_scored,
        count(case when passed then 1 end) as n_passed,
        count(objective_pass) as n_objective_scored,
        count(case when objective_pass then 1 end) as n_objective_passed,
        max(ended_at_ms) - min(started_at_ms) as wall_clock_ms,
        count(e2e_ms) as n_latency,
        count(case when is_late then 1 end) as n_timeout_counted,
        quantile_cont(e2e_rank, [0.5, 0.95, 0.99]) as e2e_ms_quantiles,
        cast(sum(e2e_ms) as bigint) as e2e_ms_total,
        count(ttft_ms) as n_ttft,
        quantile_cont(ttft_rank, [0.5, 0.95, 0.99]) as ttft_ms_quantiles,
        cast(sum(ttft_ms) as bigint) as ttft_ms_total,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens,
        cast(sum(reasoning_tokens) as bigint) as reasoning_tokens,
        cast(sum(cached_input_tokens) as bigint) as cached_input_tokens,
        count(input_tokens + output_tokens) as n_tokens_known,
        cast(sum(cost_nano_usd) as bigint) as cost_nano_usd,
        count(cost_nano_usd) as n_cost_known,
        cast(sum(case when e2e_ms > 0 then output_tokens end) as bigint) as timed_output_tokens,
        cast(sum(case when output_tokens is not null then e2e_ms end) as bigint) as timed_e2e_ms,
        count(tool_use_success) as n_tool_trials,
        count(case when tool_use_success then 1 end) as n_tool_success
    from measured
    group by run_id, model_id
),

joined as (
    select
        plans.run_id,
        plans.provider,
        plans.model,
        plans.thinking_level,
        plans.model_id,
        plans.n_planned,
        plans.n_scorable,
        coalesce(counted.n_total, 0) as n_total,
        coalesce(counted.n_ok, 0) as n_ok,
        coalesce(counted.n_success, 0) as n_success,
        coalesce(counted.n_reused, 0) as n_reused,
        coalesce(counted.n_skipped_unavailable, 0) as n_skipped_unavailable,
        coalesce(counted.n_auth_error, 0) as n_auth_error,
        coalesce(counted.n_rate_limited, 0) as n_rate_limited,
        coalesce(counted.n_error, 0) as n_error,
        coalesce(counted.n_timeout, 0) as n_timeout,
        coalesce(counted.n_scored, 0) as n_scored,
        coalesce(counted.n_passed, 0) as n_passed,
        coalesce(counted.n_objective_scored, 0) as n_objective_scored,
        coalesce(counted.n_objective_passed, 0) as n_objective_passed,
        counted.wall_clock_ms,
        coalesce(counted.n_latency, 0) as n_latency,
        coalesce(counted.n_timeout_counted, 0) as n_timeout_counted,
        counted.e2e_ms_quantiles,
        counted.e2e_ms_total,
        coalesce(counted.n_ttft, 0) as n_ttft,
        case when counted.n_ttft > 0 then counted.ttft_ms_quantiles end as ttft_ms_quantiles,
        counted.ttft_ms_total,
        counted.input_tokens,
        counted.output_tokens,
        counted.reasoning_tokens,
        counted.cached_input_tokens,
        coalesce(counted.n_tokens_known, 0) as n_tokens_known,
        counted.cost_nano_usd,
        coalesce(counted.n_cost_known, 0) as n_cost_known,
        counted.timed_output_tokens,
        counted.timed_e2e_ms,
        coalesce(counted.n_tool_trials, 0) as n_tool_trials,
        coalesce(counted.n_tool_success, 0) as n_tool_success
    from int_run_models as plans
    left join counted
        on plans.run_id = counted.run_id
        and plans.model_id = counted.model_id
)

select
    run_id,
    provider,
    model,
    thinking_level,
    model_id,
    n_planned,
    n_total,
    n_ok,
    n_success,
    n_reused,
    n_skipped_unavailable,
    n_auth_error,
    n_rate_limited,
    n_error,
    n_timeout,
    n_scorable,
    n_scored,
    n_passed,
    n_objective_scored,
    n_objective_passed,
    cast(n_success as double) / nullif(n_ok, 0) as success_rate_ok,
    cast(n_objective_passed as double) / nullif(n_objective_scored, 0) as objective_pass_rate,
    cast(n_passed as double) / nullif(n_scored, 0) as passed_rate,
    cast(n_passed as double) / nullif(n_scorable, 0) as score_strict,
    cast(n_scored as double) / nullif(n_scorable, 0) as coverage,
    -- the wall clock was set back meanwhile: no duration is better than a negative one
    case when wall_clock_ms >= 0 then wall_clock_ms end as wall_clock_ms,
    n_latency,
    n_timeout_counted,
    case when e2e_ms_quantiles[1] < 1e18 then e2e_ms_quantiles[1] end as e2e_ms_p50,
    case when e2e_ms_quantiles[2] < 1e18 then e2e_ms_quantiles[2] end as e2e_ms_p95,
    case when e2e_ms_quantiles[3] < 1e18 then e2e_ms_quantiles[3] end as e2e_ms_p99,
    cast(e2e_ms_total as double) / nullif(n_latency, 0) as e2e_ms_mean,
    n_ttft,
    case when ttft_ms_quantiles[1] < 1e18 then ttft_ms_quantiles[1] end as ttft_ms_p50,
    case when ttft_ms_quantiles[2] < 1e18 then ttft_ms_quantiles[2] end as ttft_ms_p95,
    case when ttft_ms_quantiles[3] < 1e18 then ttft_ms_quantiles[3] end as ttft_ms_p99,
    cast(ttft_ms_total as double) / nullif(n_ttft, 0) as ttft_ms_mean,
    input_tokens,
    output_tokens,
    reasoning_tokens,
    cached_input_tokens,
    n_tokens_known,
    cast(cost_nano_usd as double) / 1e9 as cost_usd,
    n_cost_known,
    1e3 * cast(timed_output_tokens as double) / nullif(timed_e2e_ms, 0) as output_tokens_per_s,
    n_tool_trials,
    n_tool_success,
    cast(n_tool_success as double) / nullif(n_tool_trials, 0) as tool_use_rate
from joined
order by run_id, provider, model, thinking_level nulls first, model_id

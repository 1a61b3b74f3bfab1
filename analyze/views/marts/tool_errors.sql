-- One row per model of a run and tool that it called: how often calls failed.
-- The rate is the mean over cases of the share of failed results, since one case that calls a tool a
-- hundred times is one case; clusters stand for their cases. Its interval is that of all rates here:
-- Wilson 1927 with the effective number of results, whose design effect is measured from the spread
-- of the cases and shrunk to a prior (docs/statistics.md); null below two cases.
with

unit_counts as (
    select
        calls.run_id,
        calls.provider,
        calls.model,
        calls.thinking_level,
        calls.model_id,
        calls.tool,
        clusters.cluster,
        case when clusters.cluster is null then calls.case_id end as case_id,
        count(distinct calls.case_id) as n_cases,
        count(*) as n_calls,
        count(calls.is_error) as n_results,
        count(case when calls.is_error then 1 end) as n_errors,
        count(case when calls.error_class in ('rate_limited', 'unavailable') then 1 end) as n_refused,
        count(case when calls.error_class = 'exit_code' then 1 end) as n_exit_codes,
        count(case when calls.truncated then 1 end) as n_truncated,
        cast(sum(calls.duration_ms) as bigint) as duration_ms
    from int_tool_calls as calls
    left join int_case_clusters as clusters
        on calls.suite_id = clusters.suite_id
        and calls.case_id = clusters.case_id
    group by
        calls.run_id,
        calls.provider,
        calls.model,
        calls.thinking_level,
        calls.model_id,
        calls.tool,
        clusters.cluster,
        case when clusters.cluster is null then calls.case_id end
),

unit_rates as (
    select
        *,
        case when n_results > 0 then cast(n_errors as double) / n_results end as rate,
        case when n_results > 0 then cast(round(1e12 * n_errors / n_results) as bigint) end as rate_1e12,
        case when n_results > 0 then cast(round(1e9 * n_errors / n_results) as bigint) end as rate_1e9,
        case when n_results > 0 then cast(round(1e12 / n_results) as bigint) end as inverse_1e12
    from unit_counts
),

counted as (
    select
        run_id,
        provider,
        model,
        thinking_level,
        model_id,
        tool,
        cast(sum(n_cases) as bigint) as n_cases,
        count(rate) as n_units,
        cast(sum(n_calls) as bigint) as n_calls,
        cast(sum(n_results) as bigint) as n_results,
        cast(sum(n_errors) as bigint) as n_errors,
        cast(sum(n_refused) as bigint) as n_refused,
        cast(sum(n_exit_codes) as bigint) as n_exit_codes,
        cast(sum(n_truncated) as bigint) as n_truncated,
        cast(sum(duration_ms) as bigint) as duration_ms,
        -- whole numbers, so that no order of rows changes a digit
        cast(sum(inverse_1e12) as double) / 1e12 as inverse,
        case
            when min(rate) = max(rate) then min(rate)
            else cast(sum(rate_1e12) as double) / 1e12 / count(rate)
        end as error_rate,
        case
            when min(rate) = max(rate) then 0
            else (
                cast(sum(cast(rate_1e9 * rate_1e9 as decimal(38, 0))) as double)
                - cast(sum(rate_1e9) as double) * cast(sum(rate_1e9) as double) / count(rate)
            ) / 1e18
        end as squares
    from unit_rates
    group by run_id, provider, model, thinking_level, model_id, tool
),

binomials as (
    select
        *,
        greatest(n_units / inverse, 1) as most,
        error_rate * (1 - error_rate) * inverse / (n_units * n_units) as binomial,
        n_units * least(error_rate, 1 - error_rate) as weight
    from counted
    where n_units > 1
),

effects as (
    select
        *,
        2 * (1 + 6e-1 * (most - 1)) as prior,
        case
            when binomial > 0
                then least(greatest(squares / (n_units - 1) / n_units / binomial, 1), most)
            else 1
        end as shown
    from binomials
),

limits as (
    select
        run_id,
        model_id,
        tool,
        error_rate,
        n_units * most * (2 + weight) / (prior + weight * shown) as effective_results
    from effects
),

intervals as (
    select
        run_id,
        model_id,
        tool,
        effective_results,
        -- the square of the normal quantile of 97.5 %, 1.959964
        (error_rate + 3841458820694124e-15 / (2 * effective_results)) / (1 + 3841458820694124e-15 / effective_results) as centre,
        sqrt(
            3841458820694124e-15
            * (error_rate * (1 - error_rate) / effective_results + 3841458820694124e-15 / (4 * effective_results * effective_results))
        ) / (1 + 3841458820694124e-15 / effective_results) as half
    from limits
)

select
    counted.run_id,
    counted.provider,
    counted.model,
    counted.thinking_level,
    counted.model_id,
    counted.tool,
    counted.n_cases,
    counted.n_calls,
    counted.n_results,
    counted.n_errors,
    counted.n_refused,
    counted.n_exit_codes,
    counted.n_truncated,
    counted.duration_ms,
    counted.error_rate,
    case
        when intervals.effective_results is null then null
        when counted.error_rate = 0 then cast(0 as double)
        else greatest(intervals.centre - intervals.half, 0)
    end as error_rate_low,
    case
        when intervals.effective_results is null then null
        when counted.error_rate = 1 then cast(1 as double)
        else least(intervals.centre + intervals.half, 1)
    end as error_rate_high,
    intervals.effective_results
from counted
left join intervals
    on counted.run_id = intervals.run_id
    and counted.model_id = intervals.model_id
    and counted.tool is not distinct from intervals.tool
order by
    counted.run_id,
    counted.provider,
    counted.model,
    counted.thinking_level nulls first,
    counted.model_id,
    counted.tool nulls first

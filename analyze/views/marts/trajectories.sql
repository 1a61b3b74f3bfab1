-- One row per trajectory of a trial: what an agent did and cost, with and without those it started.
-- Tokens and costs are of answers and of failed requests that say theirs, but for those that were
-- copied from an earlier trajectory.
with

counted as (
    select
        run_id,
        record_no,
        trajectory,
        count(*) as n_steps,
        count(
            distinct case
                when turn_no > 0
                    and not is_copied_context
                    and (role = 'assistant' or kind in ('reasoning', 'tool_call'))
                    then turn_no
            end
        ) as n_turns,
        count(case when kind = 'tool_call' and not is_copied_context then 1 end) as n_calls,
        count(case when kind = 'tool_result' and is_error and not is_copied_context then 1 end)
            as n_errors,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens,
        cast(sum(cost_nano_usd) as bigint) as cost_nano_usd,
        min(case when not is_copied_context then started_at_ms end) as started_at_ms,
        min(case when not is_copied_context then started_at end) as started_at,
        max(case when not is_copied_context then ended_at_ms end) as ended_at_ms
    from int_steps
    group by run_id, record_no, trajectory
),

added as (
    select
        one.run_id,
        one.record_no,
        one.trajectory,
        count(*) - 1 as n_below,
        cast(sum(below.input_tokens) as bigint) as input_tokens,
        cast(sum(below.output_tokens) as bigint) as output_tokens,
        cast(sum(below.cost_nano_usd) as bigint) as cost_nano_usd
    from counted as one
    inner join counted as below
        on one.run_id = below.run_id
        and one.record_no = below.record_no
        and substr(below.trajectory || '/', 1, length(one.trajectory) + 1) = one.trajectory || '/'
    group by one.run_id, one.record_no, one.trajectory
)

select
    counted.run_id,
    trials.provider,
    trials.model,
    trials.thinking_level,
    trials.model_id,
    trials.suite_id,
    trials.case_id,
    trials.repetition,
    counted.record_no,
    counted.trajectory,
    case
        when counted.trajectory like '%/%' then regexp_replace(counted.trajectory, '/[^/]*$', '')
    end as parent,
    added.n_below,
    counted.n_steps,
    counted.n_turns,
    counted.n_calls,
    counted.n_errors,
    counted.input_tokens,
    counted.output_tokens,
    cast(counted.cost_nano_usd as double) / 1e9 as cost_usd,
    added.input_tokens as input_tokens_with_below,
    added.output_tokens as output_tokens_with_below,
    cast(added.cost_nano_usd as double) / 1e9 as cost_with_below_usd,
    counted.started_at_ms,
    counted.started_at,
    counted.ended_at_ms
from counted
inner join trials
    on counted.run_id = trials.run_id
    and counted.record_no = trials.record_no
    and trials.is_measured
inner join added
    on counted.run_id = added.run_id
    and counted.record_no = added.record_no
    and counted.trajectory = added.trajectory
order by
    counted.run_id,
    trials.provider,
    trials.model,
    trials.thinking_level nulls first,
    trials.model_id,
    trials.case_id,
    trials.repetition,
    counted.trajectory

-- One row per step of the record that counts of a trial, with tokens and cost of its own.
-- What is counted along a trajectory becomes the difference to the answer before that says it; where
-- one of these counts falls, all began again. Cached tokens become a part of the input. A step that
-- was copied from an earlier trajectory counts there, and costs nothing here.
with

along as (
    select
        run_id,
        record_no,
        trajectory,
        step_no,
        input_tokens,
        cached_input_tokens,
        cache_write_tokens,
        output_tokens,
        reasoning_tokens,
        cast(round(cost_usd * 1e9) as bigint) as cost_nano_usd
    from stg_steps
    where usage_counts = 'cumulative'
),

fallen as (
    select
        run_id,
        record_no,
        trajectory,
        step_no,
        input_tokens,
        cached_input_tokens,
        cache_write_tokens,
        output_tokens,
        reasoning_tokens,
        cost_nano_usd,
        case
            when
                input_tokens < lag(input_tokens) over (
                    partition by run_id, record_no, trajectory, input_tokens is null order by step_no
                )
                or cached_input_tokens < lag(cached_input_tokens) over (
                    partition by run_id, record_no, trajectory, cached_input_tokens is null order by step_no
                )
                or cache_write_tokens < lag(cache_write_tokens) over (
                    partition by run_id, record_no, trajectory, cache_write_tokens is null order by step_no
                )
                or output_tokens < lag(output_tokens) over (
                    partition by run_id, record_no, trajectory, output_tokens is null order by step_no
                )
                or reasoning_tokens < lag(reasoning_tokens) over (
                    partition by run_id, record_no, trajectory, reasoning_tokens is null order by step_no
                )
                or cost_nano_usd < lag(cost_nano_usd) over (
                    partition by run_id, record_no, trajectory, cost_nano_usd is null order by step_no
                )
                then 1
            else 0
        end as falls
    from along
),

spells as (
    select
        run_id,
        record_no,
        trajectory,
        step_no,
        input_tokens,
        cached_input_tokens,
        cache_write_tokens,
        output_tokens,
        reasoning_tokens,
        cost_nano_usd,
        sum(falls) over (
            partition by run_id, record_no, trajectory order by step_no
        ) as spell
    from fallen
),

before as (
    select
        run_id,
        record_no,
        step_no,
        lag(input_tokens) over (
            partition by run_id, record_no, trajectory, spell, input_tokens is null order by step_no
        ) as input_tokens,
        lag(cached_input_tokens) over (
            partition by run_id, record_no, trajectory, spell, cached_input_tokens is null order by step_no
        ) as cached_input_tokens,
        lag(cache_write_tokens) over (
            partition by run_id, record_no, trajectory, spell, cache_write_tokens is null order by step_no
        ) as cache_write_tokens,
        lag(output_tokens) over (
            partition by run_id, record_no, trajectory, spell, output_tokens is null order by step_no
        ) as output_tokens,
        lag(reasoning_tokens) over (
            partition by run_id, record_no, trajectory, spell, reasoning_tokens is null order by step_no
        ) as reasoning_tokens,
        lag(cost_nano_usd) over (
            partition by run_id, record_no, trajectory, spell, cost_nano_usd is null order by step_no
        ) as cost_nano_usd
    from spells
),

counted as (
    select
        steps.run_id,
        steps.model_id,
        steps.case_id,
        steps.repetition,
        steps.record_no,
        steps.attempt,
        steps.step_no,
        steps.trajectory,
        steps.turn_no,
        steps.kind,
        steps.role,
        steps.requested_model,
        steps.served_model,
        steps.tool,
        steps.call_id,
        steps.effect,
        steps.target_hash,
        steps.args_hash,
        steps.result_hash,
        steps.result_norm_hash,
        steps.norm_version,
        steps.text_hash,
        steps.produced_bytes,
        steps.stored_bytes,
        steps.shown_bytes,
        steps.truncated,
        steps.is_error,
        steps.error_class,
        steps.exit_code,
        case
            when steps.is_copied_context then null
            else steps.input_tokens - coalesce(before.input_tokens, 0)
        end as input_tokens,
        case
            when steps.is_copied_context then null
            else steps.cached_input_tokens - coalesce(before.cached_input_tokens, 0)
        end as cached_input_tokens,
        case
            when steps.is_copied_context then null
            else steps.cache_write_tokens - coalesce(before.cache_write_tokens, 0)
        end as cache_write_tokens,
        case
            when steps.is_copied_context then null
            else steps.output_tokens - coalesce(before.output_tokens, 0)
        end as output_tokens,
        case
            when steps.is_copied_context then null
            else steps.reasoning_tokens - coalesce(before.reasoning_tokens, 0)
        end as reasoning_tokens,
        case
            when steps.is_copied_context then null
            else cast(round(steps.cost_usd * 1e9) as bigint) - coalesce(before.cost_nano_usd, 0)
        end as cost_nano_usd,
        steps.usage_cached,
        steps.cost_source,
        steps.started_at_ms,
        steps.started_at,
        steps.ended_at_ms,
        steps.duration_ms,
        steps.wait_ms,
        steps.is_copied_context,
        steps.source
    from stg_steps as steps
    inner join trials
        on steps.run_id = trials.run_id
        and steps.record_no = trials.record_no
    left join before
        on steps.run_id = before.run_id
        and steps.record_no = before.record_no
        and steps.step_no = before.step_no
)

select
    run_id,
    model_id,
    case_id,
    repetition,
    record_no,
    attempt,
    step_no,
    trajectory,
    turn_no,
    kind,
    role,
    requested_model,
    served_model,
    tool,
    call_id,
    effect,
    target_hash,
    args_hash,
    result_hash,
    result_norm_hash,
    norm_version,
    text_hash,
    produced_bytes,
    stored_bytes,
    shown_bytes,
    truncated,
    is_error,
    error_class,
    exit_code,
    case
        when usage_cached = 'beside'
            then input_tokens + coalesce(cached_input_tokens, 0) + coalesce(cache_write_tokens, 0)
        else input_tokens
    end as input_tokens,
    cached_input_tokens,
    cache_write_tokens,
    output_tokens,
    reasoning_tokens,
    cost_nano_usd,
    cost_source,
    started_at_ms,
    started_at,
    ended_at_ms,
    duration_ms,
    wait_ms,
    is_copied_context,
    source
from counted

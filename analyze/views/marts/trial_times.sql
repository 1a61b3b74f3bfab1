-- One row per trial that has steps: what its time went into.
-- By clocks that nobody sets, but for the whole and the set-up, which are of the wall clock. Answers
-- and tools that ran at the same time count once each, so parts may be more than the whole; what is
-- left is never below 0.
with

parts as (
    select
        run_id,
        record_no,
        min(case when not is_copied_context then started_at_ms end) as first_at_ms,
        cast(sum(case when kind = 'message' and not is_copied_context then duration_ms end) as bigint)
            as model_ms,
        cast(
            sum(case when kind = 'tool_result' and not is_copied_context then duration_ms end) as bigint
        ) as result_ms,
        cast(
            sum(
                case
                    when kind = 'error'
                        and not is_copied_context
                        and coalesce(duration_ms, wait_ms) is not null
                        then coalesce(duration_ms, 0) + coalesce(wait_ms, 0)
                end
            ) as bigint
        ) as retry_ms
    from int_steps
    group by run_id, record_no
),

timed as (
    select
        trials.run_id,
        trials.provider,
        trials.model,
        trials.thinking_level,
        trials.model_id,
        trials.suite_id,
        trials.case_id,
        trials.repetition,
        trials.record_no,
        case
            when trials.ended_at_ms >= trials.started_at_ms
                then trials.ended_at_ms - trials.started_at_ms
        end as total_ms,
        case
            when parts.first_at_ms >= trials.started_at_ms and parts.first_at_ms <= trials.ended_at_ms
                then parts.first_at_ms - trials.started_at_ms
        end as setup_ms,
        parts.model_ms,
        coalesce(trials.tool_ms, parts.result_ms) as tool_ms,
        parts.retry_ms
    from parts
    inner join trials
        on parts.run_id = trials.run_id
        and parts.record_no = trials.record_no
    where trials.is_measured
)

select
    run_id,
    provider,
    model,
    thinking_level,
    model_id,
    suite_id,
    case_id,
    repetition,
    record_no,
    total_ms,
    setup_ms,
    model_ms,
    tool_ms,
    retry_ms,
    case
        when total_ms is not null and model_ms is not null
            then greatest(
                total_ms - coalesce(setup_ms, 0) - model_ms - coalesce(tool_ms, 0)
                - coalesce(retry_ms, 0),
                0
            )
    end as idle_ms
from timed
order by
    run_id,
    provider,
    model,
    thinking_level nulls first,
    model_id,
    case_id,
    repetition

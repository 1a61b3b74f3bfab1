-- One row per trial that has steps: why it ended.
-- The first that holds, in the order of the words: `provider` (it was not served, or the way there
-- broke), `harness` (our own, the machine's, a setting's, or a failure that nobody knows), `limit`,
-- `refusal`, `length` (the answer was cut), `empty`, `verifier` (what was to judge it could not),
-- `gave_up` (it ended by itself, its last call had failed, and it did not pass), `finished`.
with

marked as (
    select
        steps.run_id,
        steps.record_no,
        count(*) as n_steps,
        max(
            case
                when steps.kind = 'limit'
                    and steps.trajectory = 'main'
                    and not steps.is_copied_context
                    then steps.step_no
            end
        ) as limit_step_no
    from stg_steps as steps
    inner join trials
        on steps.run_id = trials.run_id
        and steps.record_no = trials.record_no
    where trials.is_measured
    group by steps.run_id, steps.record_no
),

limited as (
    select
        steps.run_id,
        steps.record_no,
        steps.error_class as limit_name
    from stg_steps as steps
    inner join marked
        on steps.run_id = marked.run_id
        and steps.record_no = marked.record_no
        and steps.step_no = marked.limit_step_no
),

last_calls as (
    select
        run_id,
        record_no,
        max(step_no) as step_no
    from int_tool_calls
    where trajectory = 'main'
    group by run_id, record_no
),

failed as (
    select
        calls.run_id,
        calls.record_no,
        calls.error_class
    from int_tool_calls as calls
    inner join last_calls
        on calls.run_id = last_calls.run_id
        and calls.record_no = last_calls.record_no
        and calls.step_no = last_calls.step_no
    where calls.is_error
),

sorted as (
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
        marked.n_steps,
        marked.limit_step_no,
        failures.failure_type,
        trials.finish_reason,
        trials.passed,
        limited.limit_name,
        failed.error_class as call_error,
        failed.record_no is not null as is_call_failed,
        case
            when trials.is_success then null
            when failures.failure_type in (
                'max_turns_exceeded', 'limit_exceeded', 'output_truncated', 'empty_response'
            )
                then failures.failure_type
            when failures.failure_type = 'timeout' and failures.cause = 'model' then 'timeout'
            when failures.failure_type in ('connection_error', 'api_key_missing', 'tool_calls_not_supported')
                or failures.failure_type like 'http_%'
                or failures.cause = 'provider'
                then 'provider'
            else 'harness'
        end as ended_by,
        trials.checks_errored > 0 and trials.passed is null as is_unjudged,
        coalesce(failures.failure_type, trials.finish_reason) as said
    from marked
    inner join trials
        on marked.run_id = trials.run_id
        and marked.record_no = trials.record_no
    left join int_failures as failures
        on trials.run_id = failures.run_id
        and trials.record_no = failures.record_no
    left join limited
        on trials.run_id = limited.run_id
        and trials.record_no = limited.record_no
    left join failed
        on trials.run_id = failed.run_id
        and trials.record_no = failed.record_no
),

named as (
    select
        *,
        case
            when ended_by in ('provider', 'harness') then ended_by
            when ended_by in ('max_turns_exceeded', 'limit_exceeded', 'timeout') or limit_step_no is not null
                then 'limit'
            when finish_reason in ('refusal', 'content_filter') then 'refusal'
            when ended_by = 'output_truncated' or finish_reason in (
                'length', 'max_tokens', 'model_context_window_exceeded'
            )
                then 'length'
            when ended_by = 'empty_response' then 'empty'
            when is_unjudged then 'verifier'
            when is_call_failed and passed is distinct from true then 'gave_up'
            else 'finished'
        end as stop
    from sorted
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
    n_steps,
    stop,
    case
        when stop = 'limit' then coalesce(limit_name, failure_type)
        when stop = 'refusal' then finish_reason
        when stop = 'gave_up' then call_error
        when stop = 'verifier' then 'checks_errored'
        when stop <> 'finished' then said
    end as stop_detail,
    passed
from named
order by
    run_id,
    provider,
    model,
    thinking_level nulls first,
    model_id,
    case_id,
    repetition

-- One row per trial in which a tool was called: its first error, its last progress, its last change.
-- Progress is a call that did not fail and whose tool, arguments and result had not come together
-- before. A change is a call that is known to write and did not fail; a script may change files
-- unseen. What follows the last change is spent on looking, or for nothing. Calls of agents that the
-- agent started are its own here.
with

calls as (
    select
        *,
        result_step_no is not null and not is_error as is_done,
        coalesce(tool, '') || ' ' || args_hash as asked
    from int_tool_calls
),

new_results as (
    select
        run_id,
        record_no,
        min(result_step_no) as result_step_no
    from calls
    where is_done
    group by run_id, record_no, tool, args_hash, result_norm_hash
),

progressed as (
    select
        run_id,
        record_no,
        max(result_step_no) as last_progress_step_no
    from new_results
    group by run_id, record_no
),

files as (
    select
        run_id,
        record_no,
        min(case when effect = 'read' then step_no end) as first_read_no,
        min(case when effect = 'write' then step_no end) as first_write_no
    from calls
    where is_done and target_hash is not null and effect in ('read', 'write')
    group by run_id, record_no, target_hash
),

changed as (
    select
        run_id,
        record_no,
        count(first_write_no) as n_changed_files,
        count(
            case when first_write_no < first_read_no then 1
                when first_read_no is null then first_write_no end
        ) as n_unread_files
    from files
    group by run_id, record_no
),

sums as (
    select
        run_id,
        suite_id,
        provider,
        model,
        thinking_level,
        model_id,
        case_id,
        repetition,
        record_no,
        count(*) as n_calls,
        count(case when is_error then 1 end) as n_errors,
        min(case when is_error then result_step_no end) as first_error_step_no,
        count(case when is_done and effect = 'write' then 1 end) as n_changes,
        max(case when is_done and effect = 'write' then result_step_no end) as last_change_step_no
    from calls
    group by
        run_id,
        suite_id,
        provider,
        model,
        thinking_level,
        model_id,
        case_id,
        repetition,
        record_no
),

counted as (
    select
        sums.*,
        progressed.last_progress_step_no,
        coalesce(changed.n_changed_files, 0) as n_changed_files,
        coalesce(changed.n_unread_files, 0) as n_unread_files
    from sums
    left join progressed
        on sums.run_id = progressed.run_id
        and sums.record_no = progressed.record_no
    left join changed
        on sums.run_id = changed.run_id
        and sums.record_no = changed.record_no
),

later as (
    select
        calls.run_id,
        calls.record_no,
        min(
            case
                when calls.is_done
                    and calls.step_no > counted.first_error_step_no
                    and calls.asked <> failed.asked
                    then calls.result_step_no
            end
        ) as recovered_step_no,
        count(case when calls.step_no > counted.last_progress_step_no then 1 end)
            as n_calls_after_progress,
        count(case when calls.step_no > counted.last_change_step_no then 1 end)
            as n_calls_after_change,
        count(
            case
                when calls.step_no > counted.last_change_step_no
                    and calls.effect = 'check'
                    and calls.result_step_no is not null
                    then 1
            end
        ) as n_checks_after_change
    from calls
    inner join counted
        on calls.run_id = counted.run_id
        and calls.record_no = counted.record_no
    left join calls as failed
        on counted.run_id = failed.run_id
        and counted.record_no = failed.record_no
        and counted.first_error_step_no = failed.result_step_no
    group by calls.run_id, calls.record_no
),

spent as (
    select
        answers.run_id,
        answers.record_no,
        cast(sum(coalesce(answers.input_tokens, 0) + coalesce(answers.output_tokens, 0)) as bigint)
            as tokens,
        cast(sum(answers.cost_nano_usd) as bigint) as cost_nano_usd,
        cast(
            sum(
                case
                    when answers.step_no > counted.last_change_step_no
                        then coalesce(answers.input_tokens, 0) + coalesce(answers.output_tokens, 0)
                    else 0
                end
            ) as bigint
        ) as tokens_after,
        cast(
            sum(
                case
                    when answers.step_no > counted.last_change_step_no then answers.cost_nano_usd
                    when answers.cost_nano_usd is not null then 0
                end
            ) as bigint
        ) as cost_nano_usd_after,
        count(case when answers.step_no > counted.last_change_step_no then 1 end) as n_after,
        count(case when answers.step_no > counted.last_change_step_no then answers.cost_nano_usd end)
            as n_costs_after
    from int_answers as answers
    inner join counted
        on answers.run_id = counted.run_id
        and answers.record_no = counted.record_no
    group by answers.run_id, answers.record_no
)

select
    counted.run_id,
    counted.provider,
    counted.model,
    counted.thinking_level,
    counted.model_id,
    counted.suite_id,
    counted.case_id,
    counted.repetition,
    counted.record_no,
    counted.n_calls,
    counted.n_errors,
    counted.first_error_step_no,
    later.recovered_step_no,
    counted.last_progress_step_no,
    case when counted.last_progress_step_no is null then counted.n_calls
        else later.n_calls_after_progress end as n_calls_after_progress,
    counted.n_changes,
    counted.last_change_step_no,
    counted.n_changed_files,
    counted.n_unread_files,
    case when counted.n_changes > 0 then later.n_calls_after_change end as n_calls_after_change,
    case when counted.n_changes > 0 then later.n_checks_after_change > 0 end
        as is_checked_after_change,
    case when counted.n_changes > 0 then cast(spent.tokens_after as double) / nullif(spent.tokens, 0) end
        as tokens_after_change_share,
    case
        when counted.n_changes > 0
            then cast(spent.cost_nano_usd_after as double) / nullif(spent.cost_nano_usd, 0)
    end as cost_after_change_share,
    case
        when counted.n_changes > 0 and (spent.n_after = 0 or spent.n_costs_after > 0)
            then cast(spent.cost_nano_usd_after as double) / 1e9
    end as cost_after_change_usd
from counted
left join later
    on counted.run_id = later.run_id
    and counted.record_no = later.record_no
left join spent
    on counted.run_id = spent.run_id
    and counted.record_no = spent.record_no
order by
    counted.run_id,
    counted.provider,
    counted.model,
    counted.thinking_level nulls first,
    counted.model_id,
    counted.case_id,
    counted.repetition

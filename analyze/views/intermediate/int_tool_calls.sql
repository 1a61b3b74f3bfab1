-- One row per call of a tool in the record that counts of a trial, with the result it had.
-- A call and its result name each other by call_id, within their trajectory. Where an id comes again,
-- a result belongs to the last call before it; a call without an id has the result without one that
-- is the next step of the trial. What was copied from an earlier trajectory happened there and is left
-- out, as are trials whose answer was taken from an older run.
with

paired as (
    select
        run_id,
        model_id,
        case_id,
        repetition,
        record_no,
        trajectory,
        step_no,
        turn_no,
        kind,
        tool,
        effect,
        target_hash,
        args_hash,
        case
            when lead(kind) over calls = 'tool_result'
                and (call_id is not null or lead(step_no) over calls = step_no + 1)
                then lead(step_no) over calls
        end as result_step_no,
        lead(result_norm_hash) over calls as result_norm_hash,
        lead(truncated) over calls as truncated,
        lead(is_error) over calls as is_error,
        lead(error_class) over calls as error_class,
        lead(exit_code) over calls as exit_code,
        lead(duration_ms) over calls as duration_ms
    from stg_steps
    where kind in ('tool_call', 'tool_result') and not is_copied_context
    window calls as (partition by run_id, record_no, trajectory, call_id order by step_no)
)

select
    paired.run_id,
    trials.provider,
    trials.model,
    trials.thinking_level,
    paired.model_id,
    trials.suite_id,
    paired.case_id,
    paired.repetition,
    paired.record_no,
    paired.trajectory,
    paired.step_no,
    paired.turn_no,
    paired.tool,
    paired.effect,
    paired.target_hash,
    paired.args_hash,
    paired.result_step_no,
    case when paired.result_step_no is not null then paired.result_norm_hash end as result_norm_hash,
    case when paired.result_step_no is not null then paired.truncated end as truncated,
    case when paired.result_step_no is not null then paired.is_error end as is_error,
    case when paired.result_step_no is not null then paired.error_class end as error_class,
    case when paired.result_step_no is not null then paired.exit_code end as exit_code,
    case when paired.result_step_no is not null then paired.duration_ms end as duration_ms
from paired
inner join trials
    on paired.run_id = trials.run_id
    and paired.record_no = trials.record_no
where paired.kind = 'tool_call' and trials.is_measured

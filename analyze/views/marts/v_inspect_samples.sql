-- One row per trial with a result, by the column names of Inspect's `samples_df`.
-- Times are in seconds, and an empty `error` is none, as they are there. What a sample was asked and
-- what it should say is not in the lake: input and target are null here.
select
    trials.run_id || '/' || trials.model_id || '/' || trials.case_id
        || '/' || cast(trials.repetition as string) as sample_id,
    trials.run_id || '/' || trials.model_id as eval_id,
    trials.run_id,
    trials.provider,
    trials.model,
    trials.model_id,
    trials.suite_id as task_name,
    trials.case_id,
    trials.prompt_id as id,
    trials.repetition as epoch,
    cast(null as string) as input,
    cast(null as string) as target,
    trials.prompt_name as description,
    trials.scores,
    case
        when trials.passed is null then list_extract(trials.scores, 1).name
        else 'passed'
    end as score_headline_name,
    case
        when trials.passed then 1e0
        when not trials.passed then 0e0
        else list_extract(trials.scores, 1).value
    end as score_headline_value,
    trials.input_tokens,
    trials.output_tokens,
    coalesce(trials.input_tokens + trials.output_tokens, trials.input_tokens, trials.output_tokens)
        as total_tokens,
    cast(trials.ended_at_ms - trials.started_at_ms as double) / 1e3 as total_time,
    cast(coalesce(trials.e2e_ms + trials.tool_ms, trials.e2e_ms, trials.tool_ms) as double) / 1e3
        as working_time,
    case
        when trials.is_success or limits.record_no is not null then ''
        else coalesce(outputs.error_message, trials.failure_type, 'unknown')
    end as error,
    limits.limit_name as limit,
    case when trials.attempt_count > 0 then trials.attempt_count - 1 end as retries
from trials
left join int_limits as limits
    on trials.run_id = limits.run_id
    and trials.record_no = limits.record_no
left join stg_outputs as outputs
    on trials.run_id = outputs.run_id
    and trials.record_no = outputs.record_no
order by trials.run_id, trials.model_id, trials.case_id, epoch

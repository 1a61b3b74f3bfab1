-- One row per trajectory of a trial that has steps of its own, not only copied ones.
-- How its context grew from answer to answer, what of it came from a cache, what was cut away. A
-- request that failed and was counted all the same is one of its requests.
with

placed as (
    select
        *,
        row_number() over (
            partition by run_id, record_no, trajectory order by step_no
        ) as answer_no,
        row_number() over (
            partition by run_id, record_no, trajectory order by step_no desc
        ) as from_last,
        lag(input_tokens) over (
            partition by run_id, record_no, trajectory order by step_no
        ) as input_tokens_before
    from int_answers
    where input_tokens is not null
),

asked as (
    select
        run_id,
        record_no,
        trajectory,
        count(*) as n_answers,
        max(case when answer_no = 1 then input_tokens end) as first_input_tokens,
        max(case when from_last = 1 then input_tokens end) as last_input_tokens,
        max(input_tokens) as peak_input_tokens,
        cast(
            sum(
                case
                    when input_tokens > input_tokens_before then input_tokens - input_tokens_before
                end
            ) as bigint
        ) as grown_tokens,
        count(case when input_tokens > input_tokens_before then 1 end) as n_grown,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(case when cached_input_tokens is not null then input_tokens end) as bigint)
            as input_tokens_of_known,
        cast(sum(cached_input_tokens) as bigint) as cached_input_tokens
    from placed
    group by run_id, record_no, trajectory
),

looked as (
    select
        steps.run_id,
        steps.record_no,
        steps.trajectory,
        count(case when steps.kind = 'compaction' then 1 end) as n_compactions,
        count(case when steps.kind = 'tool_result' then 1 end) as n_results,
        count(case when steps.kind = 'tool_result' and steps.truncated then 1 end) as n_truncated,
        cast(
            sum(
                case
                    when steps.kind = 'tool_result' and steps.shown_bytes is not null
                        then steps.produced_bytes
                end
            ) as bigint
        ) as produced_bytes,
        cast(sum(case when steps.kind = 'tool_result' then steps.shown_bytes end) as bigint)
            as shown_bytes
    from stg_steps as steps
    inner join trials
        on steps.run_id = trials.run_id
        and steps.record_no = trials.record_no
    where not steps.is_copied_context and trials.is_measured
    group by steps.run_id, steps.record_no, steps.trajectory
)

select
    looked.run_id,
    trials.provider,
    trials.model,
    trials.thinking_level,
    trials.model_id,
    trials.suite_id,
    trials.case_id,
    trials.repetition,
    looked.record_no,
    looked.trajectory,
    coalesce(asked.n_answers, 0) as n_answers,
    asked.first_input_tokens,
    asked.last_input_tokens,
    asked.peak_input_tokens,
    cast(asked.grown_tokens as double) / nullif(asked.n_grown, 0) as growth_per_answer,
    asked.input_tokens,
    cast(asked.cached_input_tokens as double) / nullif(asked.input_tokens_of_known, 0) as cached_share,
    looked.n_compactions,
    looked.n_results,
    looked.n_truncated,
    looked.produced_bytes,
    looked.shown_bytes
from looked
inner join trials
    on looked.run_id = trials.run_id
    and looked.record_no = trials.record_no
left join asked
    on looked.run_id = asked.run_id
    and looked.record_no = asked.record_no
    and looked.trajectory = asked.trajectory
order by
    looked.run_id,
    trials.provider,
    trials.model,
    trials.thinking_level nulls first,
    trials.model_id,
    trials.case_id,
    trials.repetition,
    looked.trajectory

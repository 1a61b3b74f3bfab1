-- One row per model of a run, tool and way in which its calls failed.
-- Results are told apart without digits, times, paths and hexadecimal. Earlier runs are those of the
-- same suite in which the same model called a tool, by its model string and thinking level, whatever
-- its local name; a way is new where none of them had it.
with

calls as (
    select
        run_id,
        suite_id,
        provider,
        model,
        thinking_level,
        model_id,
        case_id,
        record_no,
        tool,
        is_error,
        error_class,
        result_norm_hash,
        result_step_no
    from int_tool_calls
),

errors as (
    select
        run_id,
        suite_id,
        provider,
        model,
        thinking_level,
        model_id,
        tool,
        error_class,
        result_norm_hash as signature,
        count(*) as n_errors,
        count(distinct record_no) as n_trials,
        count(distinct case_id) as n_cases,
        min(record_no) as record_no
    from calls
    where is_error
    group by
        run_id,
        suite_id,
        provider,
        model,
        thinking_level,
        model_id,
        tool,
        error_class,
        result_norm_hash
),

examples as (
    select
        calls.run_id,
        calls.model_id,
        calls.record_no,
        calls.tool,
        calls.error_class,
        calls.result_norm_hash,
        min(calls.result_step_no) as step_no
    from calls
    where calls.is_error
    group by
        calls.run_id,
        calls.model_id,
        calls.record_no,
        calls.tool,
        calls.error_class,
        calls.result_norm_hash
),

active as (
    select distinct
        calls.run_id,
        calls.suite_id,
        calls.provider,
        calls.model,
        calls.thinking_level
    from calls
),

placed as (
    select
        active.*,
        row_number() over (
            partition by active.suite_id, active.provider, active.model, active.thinking_level
            order by runs.started_at_ms nulls first, active.run_id
        ) as run_no
    from active
    left join stg_runs as runs
        on active.run_id = runs.run_id
),

seen as (
    select distinct
        errors.run_id,
        errors.suite_id,
        errors.provider,
        errors.model,
        errors.thinking_level,
        errors.tool,
        errors.error_class,
        errors.signature,
        placed.run_no
    from errors
    inner join placed
        on errors.run_id = placed.run_id
        and errors.suite_id = placed.suite_id
        and errors.provider = placed.provider
        and errors.model = placed.model
        and errors.thinking_level is not distinct from placed.thinking_level
),

counted as (
    select
        *,
        row_number() over (
            partition by
                suite_id, provider, model, thinking_level, tool, error_class, signature
            order by run_no
        ) - 1 as n_earlier_runs,
        first_value(run_id) over (
            partition by
                suite_id, provider, model, thinking_level, tool, error_class, signature
            order by run_no
        ) as first_run_id
    from seen
)

select
    errors.run_id,
    errors.provider,
    errors.model,
    errors.thinking_level,
    errors.model_id,
    errors.suite_id,
    errors.tool,
    errors.error_class,
    errors.signature,
    errors.n_errors,
    errors.n_trials,
    errors.n_cases,
    counted.n_earlier_runs,
    counted.first_run_id,
    case when counted.run_no > 1 then counted.n_earlier_runs = 0 end as is_new,
    errors.record_no as example_record_no,
    examples.step_no as example_step_no
from errors
inner join counted
    on errors.run_id = counted.run_id
    and errors.suite_id = counted.suite_id
    and errors.provider = counted.provider
    and errors.model = counted.model
    and errors.thinking_level is not distinct from counted.thinking_level
    and errors.tool is not distinct from counted.tool
    and errors.error_class is not distinct from counted.error_class
    and errors.signature is not distinct from counted.signature
inner join examples
    on errors.run_id = examples.run_id
    and errors.model_id = examples.model_id
    and errors.record_no = examples.record_no
    and errors.tool is not distinct from examples.tool
    and errors.error_class is not distinct from examples.error_class
    and errors.signature is not distinct from examples.result_norm_hash
order by
    errors.run_id,
    errors.provider,
    errors.model,
    errors.thinking_level nulls first,
    errors.model_id,
    errors.n_errors desc,
    errors.tool nulls first,
    errors.error_class nulls first,
    errors.signature nulls first

-- One row per run, provider, model, thinking level, model_id and case.
-- n_scored and n_passed are m and k of the interval of a rate. A reused answer has a verdict but
-- is no new draw, so the independent counts leave it out.
-- Answers are compared among successes: two time-outs with empty text are not identical answers.
with

case_counts as (
    select
        run_id,
        provider,
        model,
        thinking_level,
        model_id,
        case_id,
        count(*) as n_planned,
        cast(sum(case when is_scorable then 1 else 0 end) as bigint) as n_scorable,
        count(passed) as n_scored,
        cast(sum(case when passed then 1 else 0 end) as bigint) as n_passed,
        cast(sum(case when is_measured and passed is not null then 1 else 0 end) as bigint)
            as n_independent,
        cast(sum(case when is_measured and passed then 1 else 0 end) as bigint)
            as n_independent_passed,
        sum(case when is_measured and is_success then 1 else 0 end) as n_answers,
        sum(case when is_measured and not is_success and passed is not null then 1 else 0 end)
            as n_failed_answers,
        min(case when is_measured and is_success then output_hash end) as first_hash,
        max(case when is_measured and is_success then output_hash end) as last_hash,
    from int_planned_trials
    group by run_id, provider, model, thinking_level, model_id, case_id
)

select
    run_id,
    provider,
    model,
    thinking_level,
    model_id,
    case_id,
    n_planned,
    n_scorable,
    n_scored,
    n_passed,
    n_independent,
    n_independent_passed,
    n_answers >= 2 as is_repeated,
    n_answers >= 2 and n_failed_answers = 0 and first_hash = last_hash as is_identical,
from case_counts

with counted as (
    select
        provider,
        model,
        thinking_level,
        suite_id,
        case_id,
        case_hash,
        max(started_at_ms) as asked_at_ms,
        count(*) as n,
        count(case when {hit} then 1 end) as k,
        count(case when is_measured then 1 end) as n_new,
        count(case when is_measured and {hit} then 1 end) as k_new,
        count(case when is_measured and is_success then 1 end) as n_answers,
        min(case when is_measured and is_success then output_hash end) as first_hash,
        max(case when is_measured and is_success then output_hash end) as last_hash
    from trials
    where {counted} and {condition}
    group by provider, model, thinking_level, suite_id, case_id, case_hash
),
versions as (
    select
        suite_id,
        case_id,
        case_hash,
        row_number() over (
            partition by suite_id, case_id
            order by max(asked_at_ms) desc nulls last, case_hash desc nulls last
        ) as place
    from counted
    group by suite_id, case_id, case_hash
)
select
    provider,
    model,
    thinking_level,
    counted.suite_id,
    counted.case_id,
    counted.case_hash,
    n,
    k,
    n_new,
    k_new,
    n_new > 1 and n_answers = n_new and first_hash = last_hash
from counted
inner join versions
    on
        place = 1
        and counted.suite_id = versions.suite_id
        and counted.case_id = versions.case_id
        and counted.case_hash is not distinct from versions.case_hash
order by provider, model, thinking_level nulls first, counted.suite_id, counted.case_id

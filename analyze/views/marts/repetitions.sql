-- One row per run, provider, model, thinking level and model_id: how often each case was asked.
select
    run_id,
    provider,
    model,
    thinking_level,
    model_id,
    count(*) as n_cases,
    max(n_planned) as repetitions,
    count(case when is_repeated then 1 end) as n_repeated_cases,
    count(case when is_identical then 1 end) as n_identical_cases
from int_case_passes
group by run_id, provider, model, thinking_level, model_id
order by run_id, provider, model, thinking_level nulls first, model_id

-- One row per run, provider, model, thinking level, model_id and case with expected tools.
-- Only trials that the provider served: a refused request says nothing about the model's tools.
select
    run_id,
    provider,
    model,
    thinking_level,
    model_id,
    case_id,
    count(*) as n_tool_trials,
    count(case when tool_use_success then 1 end) as n_tool_success
from trials
where has_expected_tools and is_ok
group by run_id, provider, model, thinking_level, model_id, case_id

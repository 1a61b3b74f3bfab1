-- One row per provider, model, thinking level and outcome of a case with tools over all runs.
-- n_cases is how many cases came out that way. A case is (suite_id, case_id, case_hash); verdicts
-- are of all trials that the provider served, reused ones too.
with

case_counts as (
    select
        provider,
        model,
        thinking_level,
        suite_id,
        case_id,
        case_hash,
        count(*) as n_tool_trials,
        count(case when tool_use_success then 1 end) as n_tool_success
    from trials
    where has_expected_tools and is_ok
    group by provider, model, thinking_level, suite_id, case_id, case_hash
)

select
    provider,
    model,
    thinking_level,
    n_tool_trials,
    n_tool_success,
    count(*) as n_cases
from case_counts
group by provider, model, thinking_level, n_tool_trials, n_tool_success

-- One row per provider, model, thinking level and outcome of a case with tools over all runs.
-- n_cases is how many cases came out that way. A case is (suite_id, case_id, case_hash); verdicts
-- are of all trials that the provider served, reused ones too. Cases of one cluster stay apart from
-- all others.
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
    case_counts.provider,
    case_counts.model,
    case_counts.thinking_level,
    clusters.cluster,
    case_counts.n_tool_trials,
    case_counts.n_tool_success,
    count(*) as n_cases
from case_counts
left join int_case_clusters as clusters
    on case_counts.suite_id = clusters.suite_id
    and case_counts.case_id = clusters.case_id
group by
    case_counts.provider,
    case_counts.model,
    case_counts.thinking_level,
    clusters.cluster,
    case_counts.n_tool_trials,
    case_counts.n_tool_success

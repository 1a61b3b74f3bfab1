-- One row per run, model_id and outcome of a case with tools.
-- n_cases is how many cases came out that way; those of one cluster stay apart from all others.
select
    run_id,
    model_id,
    cluster,
    n_tool_trials,
    n_tool_success,
    count(*) as n_cases
from int_case_tool_use
group by run_id, model_id, cluster, n_tool_trials, n_tool_success

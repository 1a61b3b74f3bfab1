with cases as (
    select
        provider,
        model,
        thinking_level,
        suite_id,
        case_id,
        count(*) as n_trials,
        count(case when {hit} then 1 end) as n_hits
    from trials
    where {counted} and {condition}
    group by provider, model, thinking_level, suite_id, case_id, case_hash
)
select provider, model, thinking_level, n_trials, n_hits, count(*), cluster
from cases
left join int_case_clusters using (suite_id, case_id)
group by provider, model, thinking_level, n_trials, n_hits, cluster
order by provider, model, thinking_level nulls first, n_trials, n_hits, cluster nulls first

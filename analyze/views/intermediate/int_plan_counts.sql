-- One row per run, provider, model, thinking level and model_id that was planned.
-- The denominators: a trial that never ran is in them.
select
    run_id,
    provider,
    model,
    thinking_level,
    model_id,
    count(*) as n_planned,
    count(case when is_scorable then 1 end) as n_scorable
from stg_plans
group by run_id, provider, model, thinking_level, model_id

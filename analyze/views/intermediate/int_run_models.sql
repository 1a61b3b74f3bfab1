-- One row per run and model_id that was planned: who it is, and the denominators of its rates.
-- In a run a model_id stands for one model and thinking level, so min() takes the only one. It stands
-- for one provider as well, but for imports in which agents were asked through a gateway of their
-- own: then both are named. A trial that never ran is counted.
select
    run_id,
    model_id,
    min(suite_id) as suite_id,
    case
        when min(provider) = max(provider) then min(provider)
        else min(provider) || ' and ' || max(provider)
    end as provider,
    min(model) as model,
    min(thinking_level) as thinking_level,
    count(*) as n_planned,
    count(case when is_scorable then 1 end) as n_scorable
from stg_plans
group by run_id, model_id

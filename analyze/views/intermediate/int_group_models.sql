-- One row per run and model_id: which group of the run it is, and where the run stands in time.
-- run_rank numbers the runs in order of their start: those with the same start in order of run_id,
-- those without a known one first. series_no stands for (suite_id, provider, model, thinking_level,
-- model_id) over all runs. Both let a window over millions of cells sort numbers instead of texts.
select
    model_groups.run_id,
    model_groups.suite_id,
    model_groups.provider,
    model_groups.model,
    model_groups.thinking_level,
    model_groups.model_id,
    started.started_at_ms,
    started.started_at,
    dense_rank() over (
        order by started.started_at_ms nulls first, model_groups.run_id
    ) as run_rank,
    dense_rank() over (
        order by
            model_groups.suite_id,
            model_groups.provider,
            model_groups.model,
            model_groups.thinking_level nulls first,
            model_groups.model_id
    ) as series_no
from int_run_models as model_groups
left join stg_runs as started
    on model_groups.run_id = started.run_id
